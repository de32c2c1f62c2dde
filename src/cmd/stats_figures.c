/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <glib.h>
#include <string.h>

double stats_number(const struct sql_rows *table, size_t row, const char *column)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], column) == 0)
            return g_ascii_strtod(sql_text(table, row, i), NULL);
    return 0;
}

const char *stats_cell(const struct stats *stats, size_t row, size_t column)
{
    return sql_text(stats->ever, row, column);
}

bool stats_next(const struct stats *stats, const char *name, const char *label, size_t *row)
{
    while (*row < stats->ever->count &&
           (strcmp(stats_cell(stats, *row, COUNTERS_NAME), name) != 0 ||
            (label != NULL && strcmp(stats_cell(stats, *row, COUNTERS_LABEL), label) != 0)))
        (*row)++;
    return *row < stats->ever->count;
}

double stats_count(const struct stats *stats, const char *name, const char *label)
{
    double sum = 0;
    for (size_t row = 0; stats_next(stats, name, label, &row); row++)
        sum += g_ascii_strtod(stats_cell(stats, row, COUNTERS_VALUE), NULL);
    return sum;
}

const char *stats_seconds(int64_t ms, char text[G_ASCII_DTOSTR_BUF_SIZE])
{
    return g_ascii_formatd(text, G_ASCII_DTOSTR_BUF_SIZE, "%.10g", (double)ms / 1000);
}
