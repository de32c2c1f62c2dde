/* SPDX-License-Identifier: ISC
 *
 * Suggestions for a mistyped text. */
#ifndef ONCEDROP_SUGGEST_H
#define ONCEDROP_SUGGEST_H

#include "base/base.h"

#define SUGGEST_MAX 3

/* Finds the candidates that contain the text or differ by few changes: one per four characters, from one to three. A
 * change inserts, deletes or replaces a character, or swaps two. Returns the number in ret, most similar first. */
size_t suggest_find(const char *const *candidates, size_t count, const char *text,
                    const char *ret[SUGGEST_MAX]) OD_MUST;

#endif
