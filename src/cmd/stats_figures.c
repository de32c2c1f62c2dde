/* SPDX-License-Identifier: ISC
 *
 * Single figures out of what the ledger counts. */
#include "cmd/stats_figures.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_total.h"

double stats_number(const struct ledger_table *table, const char *column)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], column) == 0)
            return g_ascii_strtod(ledger_cell(table, 0, i), NULL);
    return 0;
}

double stats_count(const struct stats *stats, const char *name, const char *label)
{
    double sum = 0;
    for (size_t row = 0; row < stats->ever->rows; row++)
        if (strcmp(ledger_cell(stats->ever, row, TOTAL_NAME), name) == 0 &&
            (label == NULL || strcmp(ledger_cell(stats->ever, row, TOTAL_LABEL), label) == 0))
            sum += g_ascii_strtod(ledger_cell(stats->ever, row, TOTAL_VALUE), NULL);
    return sum;
}
