/* SPDX-License-Identifier: ISC
 *
 * Suggestions for a mistyped text. */
#ifndef ONCEDROP_NEAREST_H
#define ONCEDROP_NEAREST_H

#include "base/base.h"

#define NEAREST_MOST 3

/* Finds the candidates that contain the text or differ by few changes: one per four characters, from one to three. A
 * change inserts, deletes or replaces a character, or swaps two. Returns the number in ret, most similar first. */
size_t nearest_find(const char *const *candidates, size_t count, const char *text,
                    const char *ret[NEAREST_MOST]) OD_MUST;

#endif
