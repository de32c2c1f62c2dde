/* SPDX-License-Identifier: ISC
 *
 * Finds which of many texts are nearest to a mistyped one. */
#ifndef ONCEDROP_NEAREST_H
#define ONCEDROP_NEAREST_H

#include "base/base.h"

#define NEAREST_MOST 3

/* Finds the nearest of the candidates, nearest first: those that contain the text, or differ by one change for each four
 * of its characters, but at least one and at most three (a character inserted, deleted, replaced, or exchanged with the next).
 * Returns how many are in ret. */
size_t nearest_find(const char *const *candidates, size_t count, const char *text,
                    const char *ret[NEAREST_MOST]) OD_MUST;

#endif
