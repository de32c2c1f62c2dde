/* SPDX-License-Identifier: ISC
 *
 * Figures from the ledger: a page for people, and the text format of Prometheus. */
#ifndef ONCEDROP_STATS_FIGURES_H
#define ONCEDROP_STATS_FIGURES_H

#include "ledger/ledger_total.h"

struct stats {
    const char *engine;                  /* name of the kind of ledger */
    bool up;                             /* the ledger has answered; else there are no tables */
    struct ledger_table *totals, *hours; /* ledger_report.h */
    struct ledger_table *ever;           /* ledger_total.h */
    int64_t unrecorded;                  /* deferrals that no ledger has (log.unrecorded); -1: not known */
};

/* What Postfix tells of the time at which it received a message has whole seconds: shorter delays mean nothing, and the
 * buckets below are those of the first that does. */
#define STATS_DELAY_LEAST_MS 1000

/* The number in the column with this name; 0 if there is none. */
double stats_number(const struct ledger_table *table, size_t row, const char *column) OD_MUST;

/* Goes on from *row to a row of the all-time counts with this name and, unless it is NULL, this label; false at the end. */
bool stats_next(const struct stats *stats, const char *name, const char *label, size_t *row);

/* A cell of such a row (TOTALS_EVER_VALUE). */
const char *stats_cell(const struct stats *stats, size_t row, size_t column) OD_MUST;

/* The sum of these rows. */
double stats_count(const struct stats *stats, const char *name, const char *label) OD_MUST;

void stats_page(const struct stats *stats);
void stats_prometheus(const struct stats *stats);

#endif
