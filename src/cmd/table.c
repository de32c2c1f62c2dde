/* SPDX-License-Identifier: ISC
 *
 * Columns that fit, and cells as JSON. */
#include "cmd/table.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/terminal.h"

#define CELL_BYTES 4096
#define NARROWEST 12 /* columns are not cut below that */
#define GAP 2

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static const struct {
    const char *word, *colour;
} colours[] = {
    {"stored", "\033[32m"},    {"duplicate", "\033[32m"}, {"pending", "\033[33m"},
    {"appending", "\033[33m"}, {"held", "\033[33m"},      {"failed", "\033[31m"},
};

static const char *colour_of(const char *text)
{
    for (size_t i = 0; terminal_coloured(STDOUT_FILENO) && i < G_N_ELEMENTS(colours); i++)
        if (strcmp(text, colours[i].word) == 0)
            return colours[i].colour;
    return "";
}

static const char *clean(const char *cell, char out[CELL_BYTES])
{
    if (cell[0] == '\0')
        return "-";
    log_escape(cell, out, CELL_BYTES);
    return out;
}

/* Booleans in words, as people say them. */
static const char *cell_text(const struct ledger_table *table, size_t row, size_t column, char out[CELL_BYTES])
{
    const char *cell = ledger_cell(table, row, column);
    if (table->types[column] == LEDGER_BOOLEAN && cell[0] != '\0')
        return cell[0] == 't' ? "yes" : "no";
    return clean(cell, out);
}

/* The text, or as much of it as fits so many columns. */
static char *fit(const char *text, int columns)
{
    if (terminal_columns(text) <= columns)
        return base_strdup(text);
    return base_printf("%.*s…", (int)terminal_fit(text, columns - 1), text);
}

static void print_cell(const char *text, int columns, bool last)
{
    char *fitted OD_CLEANUP(base_free) = fit(text, columns);
    const char *colour = colour_of(text);
    int padding = last ? 0 : columns - terminal_columns(fitted) + GAP;
    printf("%s%s%s%*s%s", colour, fitted, colour[0] != '\0' ? PLAIN : "", padding, "", last ? "\n" : "");
}

/* What the printed columns take, each cut to at most so much. */
static int sum_of(const int *widths, size_t columns, int most)
{
    int sum = -GAP;
    for (size_t i = 0; i < columns; i++)
        sum += widths[i] > 0 ? MIN(widths[i], most) + GAP : 0;
    return sum;
}

/* The widest columns give, until the table fits. */
static void shrink(int *widths, size_t columns, int room)
{
    while (sum_of(widths, columns, G_MAXINT16) > room) {
        size_t widest = 0;
        for (size_t i = 1; i < columns; i++)
            widest = widths[i] > widths[widest] ? i : widest;
        if (widths[widest] <= NARROWEST)
            return;
        widths[widest]--;
    }
}

static bool is_empty(const struct ledger_table *table, size_t row, size_t column)
{
    const char *cell = ledger_cell(table, row, column);
    return cell[0] == '\0' || (table->types[column] == LEDGER_JSON && strcmp(cell, "[]") == 0);
}

/* 0 for a column without any value. */
static int column_width(const struct ledger_table *table, size_t column)
{
    char text[CELL_BYTES];
    int widest = terminal_columns(table->names[column]);
    bool any = false;
    for (size_t row = 0; row < table->rows; row++) {
        int wide = terminal_columns(cell_text(table, row, column, text));
        any = any || !is_empty(table, row, column);
        widest = MAX(wide, widest);
    }
    return any ? widest : 0;
}

static void print_layout(const struct ledger_table *table, const int *widths)
{
    char text[CELL_BYTES];
    size_t last = 0;
    for (size_t column = 0; column < table->columns; column++)
        last = widths[column] > 0 ? column : last;
    fputs(terminal_coloured(STDOUT_FILENO) ? BOLD : "", stdout);
    for (size_t column = 0; column < table->columns; column++)
        if (widths[column] > 0)
            print_cell(table->names[column], widths[column], column == last);
    fputs(terminal_coloured(STDOUT_FILENO) ? PLAIN : "", stdout);
    for (size_t row = 0; row < table->rows; row++)
        for (size_t column = 0; column < table->columns; column++)
            if (widths[column] > 0)
                print_cell(cell_text(table, row, column, text), widths[column], column == last);
}

static int *column_widths(const struct ledger_table *table)
{
    int *widths = base_alloc((table->columns + 1) * sizeof(int));
    for (size_t column = 0; column < table->columns; column++)
        widths[column] = column_width(table, column);
    return widths;
}

void table_heading(const char *text)
{
    printf("\n%s", terminal_coloured(STDOUT_FILENO) ? BOLD : "");
    terminal_print(stdout, 0, text);
    fputs(terminal_coloured(STDOUT_FILENO) ? PLAIN : "", stdout);
}

void table_print(const struct ledger_table *table)
{
    int *widths OD_CLEANUP(base_free) = column_widths(table);
    int room = terminal_width(STDOUT_FILENO);
    if (room > 0 && sum_of(widths, table->columns, NARROWEST) > room) {
        for (size_t row = 0; row < table->rows; row++) {
            fputs(row > 0 ? "\n" : "", stdout);
            table_print_row(table, row);
        }
        return;
    }
    if (room > 0)
        shrink(widths, table->columns, room);
    if (table->rows > 0)
        print_layout(table, widths);
}

void table_print_list(const struct ledger_table *table)
{
    int *widths OD_CLEANUP(base_free) = column_widths(table);
    int room = terminal_width(STDOUT_FILENO);
    GString *left_out = g_string_new(NULL);
    for (size_t column = table->columns;
         room > 0 && column-- > 1 && sum_of(widths, table->columns, NARROWEST) > room;) {
        if (widths[column] == 0)
            continue;
        char *rest = g_string_free(left_out, FALSE);
        left_out = g_string_new(table->names[column]);
        g_string_append_printf(left_out, "%s%s", rest[0] != '\0' ? ", " : "", rest);
        g_free(rest);
        widths[column] = 0;
    }
    if (room > 0)
        shrink(widths, table->columns, room);
    if (table->rows > 0)
        print_layout(table, widths);
    if (left_out->len > 0) {
        char *line OD_CLEANUP(base_free) =
            base_printf("Left out here: %s; a wider window, a pipe, or --json has them.", left_out->str);
        fflush(stdout);
        terminal_print(stderr, 0, line);
    }
    g_string_free(left_out, TRUE);
}

void table_print_line(const char *name, const char *value)
{
    char *line OD_CLEANUP(base_free) = base_printf("%s: %s", name, value);
    terminal_print(stdout, 2, line);
}

void table_print_row(const struct ledger_table *table, size_t row)
{
    char text[CELL_BYTES];
    for (size_t column = 0; column < table->columns; column++)
        if (!is_empty(table, row, column))
            table_print_line(table->names[column], cell_text(table, row, column, text));
}

json_t *table_json_text(const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);
    json_t *json = json_string(valid);
    g_free(valid);
    return json;
}

static json_t *cell_json(const struct ledger_table *table, size_t row, size_t column)
{
    const char *cell = table->cells[row * table->columns + column];
    json_t *value = NULL;
    if (cell == NULL)
        return json_null();
    switch (table->types[column]) {
    case LEDGER_NUMBER:
        return strchr(cell, '.') != NULL ? json_real(g_ascii_strtod(cell, NULL))
                                         : json_integer(g_ascii_strtoll(cell, NULL, 10));
    case LEDGER_BOOLEAN:
        return json_boolean(cell[0] == 't');
    case LEDGER_JSON:
        value = json_loads(cell, JSON_DECODE_ANY, NULL);
        break;
    case LEDGER_TEXT:
        break;
    }
    return value != NULL ? value : table_json_text(cell);
}

json_t *table_row_json(const struct ledger_table *table, size_t row)
{
    json_t *object = json_object();
    for (size_t column = 0; column < table->columns; column++)
        json_object_set_new(object, table->names[column], cell_json(table, row, column));
    return object;
}

json_t *table_json(const struct ledger_table *table)
{
    json_t *rows = json_array();
    for (size_t row = 0; row < table->rows; row++)
        json_array_append_new(rows, table_row_json(table, row));
    return rows;
}

void table_print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(json);
}
