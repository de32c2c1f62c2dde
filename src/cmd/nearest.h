/* SPDX-License-Identifier: ISC
 *
 * Finds the texts most similar to a mistyped one. */
#ifndef ONCEDROP_NEAREST_H
#define ONCEDROP_NEAREST_H

#include "base/base.h"

#define NEAREST_MOST 3

/* Finds the candidates that contain the text, or differ from it by at most one change for each four of its characters,
 * but at least one and at most three. A change inserts, deletes or replaces a character, or swaps it with the next.
 * Returns the number of candidates in ret, the most similar first. */
size_t nearest_find(const char *const *candidates, size_t count, const char *text,
                    const char *ret[NEAREST_MOST]) OD_MUST;

#endif
