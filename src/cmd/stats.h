/* SPDX-License-Identifier: ISC
 *
 * Figures of the ledger: a page for people, and the text format of Prometheus. */
#ifndef ONCEDROP_STATS_H
#define ONCEDROP_STATS_H

#include "ledger/ledger_query.h"

struct stats {
    struct ledger_table *totals, *hours; /* ledger_list.h */
    struct ledger_table *ever;           /* ledger_total.h */
};

/* The cell of the first row in the column of this name; 0 when there is none. */
double stats_number(const struct ledger_table *table, const char *column) OD_MUST;

/* Of what was ever counted: the value with this name and label, or the sum of all labels when that is NULL. */
double stats_count(const struct stats *stats, const char *name, const char *label) OD_MUST;

void stats_page(const struct stats *stats);
void stats_prometheus(const struct stats *stats);

#endif
