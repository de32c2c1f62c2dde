/* SPDX-License-Identifier: ISC
 *
 * Finds which of many texts are nearest to a mistyped one. */
#ifndef ONCEDROP_NEAREST_H
#define ONCEDROP_NEAREST_H

#include "ledger/ledger_query.h"

#define NEAREST_MOST 3

/* Finds the nearest cells in the first column, nearest first: those that contain the text, or differ by few changes (a
 * character inserted, deleted, or replaced). Returns how many are in ret; they belong to the table. */
size_t nearest_find(const struct ledger_table *table, const char *text, const char *ret[NEAREST_MOST]) OD_MUST;

#endif
