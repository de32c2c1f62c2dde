/* SPDX-License-Identifier: ISC
 *
 * Figures from the ledger: a page for people, and the text format of Prometheus. */
#ifndef ONCEDROP_STATS_FIGURES_H
#define ONCEDROP_STATS_FIGURES_H

#include "ledger/ledger_query.h"

struct stats {
    struct ledger_table *totals, *hours; /* ledger_report.h */
    struct ledger_table *ever;           /* ledger_total.h */
};

/* The number in the first row of the column with this name; 0 if there is none. */
double stats_number(const struct ledger_table *table, const char *column) OD_MUST;

/* The all-time count with this name and label, or the sum over all labels if label is NULL. */
double stats_count(const struct stats *stats, const char *name, const char *label) OD_MUST;

void stats_page(const struct stats *stats);
void stats_prometheus(const struct stats *stats);

#endif
