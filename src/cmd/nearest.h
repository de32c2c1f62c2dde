/* SPDX-License-Identifier: ISC
 *
 * Which of many texts are nearest to one that was mistyped. */
#ifndef ONCEDROP_NEAREST_H
#define ONCEDROP_NEAREST_H

#include "ledger/ledger_query.h"

#define NEAREST_MOST 3

/* The nearest of the first column's cells, nearest first: those that contain the text, or become it by few changes (a
 * character put in, taken out, or replaced). Returns how many are in ret; they belong to the table. */
size_t nearest_find(const struct ledger_table *table, const char *text, const char *ret[NEAREST_MOST]) OD_MUST;

#endif
