/* SPDX-License-Identifier: ISC */
#include "cmd/table.h"

#include <glib.h>
#include <string.h>

#include "base/log.h"

#define CELL_BYTES 1024

static const char *clean(const char *cell, char out[CELL_BYTES])
{
    return cell[0] != '\0' ? log_escape(cell, out, CELL_BYTES) : "-";
}

static int width(const char *text)
{
    return (int)g_utf8_strlen(text, -1);
}

static void print_cell(FILE *out, const char *text, int columns, bool last)
{
    fputs(text, out);
    for (int i = width(text); !last && i < columns + 2; i++)
        fputc(' ', out);
    if (last)
        fputc('\n', out);
}

void table_print(FILE *out, const struct ledger_table *table)
{
    char text[CELL_BYTES];
    if (table->rows == 0)
        return;
    int *widths OD_CLEANUP(base_free) = base_alloc((table->columns + 1) * sizeof(int));
    for (size_t column = 0; column < table->columns; column++) {
        widths[column] = width(table->names[column]);
        for (size_t row = 0; row < table->rows; row++) {
            int wide = width(clean(ledger_cell(table, row, column), text));
            widths[column] = wide > widths[column] ? wide : widths[column];
        }
    }
    for (size_t column = 0; column < table->columns; column++)
        print_cell(out, table->names[column], widths[column], column + 1 == table->columns);
    for (size_t row = 0; row < table->rows; row++)
        for (size_t column = 0; column < table->columns; column++)
            print_cell(out, clean(ledger_cell(table, row, column), text), widths[column],
                       column + 1 == table->columns);
}

void table_print_row(FILE *out, const struct ledger_table *table, size_t row)
{
    char text[CELL_BYTES];
    for (size_t column = 0; column < table->columns; column++)
        if (ledger_cell(table, row, column)[0] != '\0')
            fprintf(out, "%s: %s\n", table->names[column], log_escape(ledger_cell(table, row, column), text, sizeof(text)));
}
