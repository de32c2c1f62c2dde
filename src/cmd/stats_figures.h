/* SPDX-License-Identifier: ISC
 *
 * Figures from the ledger: a page for people, and for Prometheus. */
#ifndef ONCEDROP_STATS_FIGURES_H
#define ONCEDROP_STATS_FIGURES_H

#include "ledger/ledger_counter.h"

struct stats {
    const char *engine;
    bool up;                         /* the ledger replied; else no tables */
    struct sql_rows *totals, *hours; /* ledger_report.h */
    struct sql_rows *ever;           /* ledger_counter.h */
    int64_t unrecorded;              /* deferrals outside the ledger (log.unrecorded_file); -1: unknown */
};

/* Postfix reports arrivals in whole seconds, so buckets of delays begin here. */
#define STATS_DELAY_LEAST_MS 1000

/* Returns 0 if there is no such column. */
double stats_number(const struct sql_rows *table, size_t row, const char *column) OD_MUST;

/* Moves *row to the first all-time count from there on with this name and label (NULL: any). Returns false at the
 * end. */
bool stats_next(const struct stats *stats, const char *name, const char *label, size_t *row);

const char *stats_cell(const struct stats *stats, size_t row, size_t column) OD_MUST;

/* Returns the sum of the rows with this name and label. */
double stats_count(const struct stats *stats, const char *name, const char *label) OD_MUST;

void stats_page(const struct stats *stats);
void stats_prometheus(const struct stats *stats);

#endif
