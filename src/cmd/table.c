/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <glib.h>
#include <string.h>

#include "base/log.h"
#include "replay/replay.h"

#define CELL_BYTES 4096
#define GAP 2

static bool has_times(const char *column)
{
    return strcmp(column, "at") == 0 || strcmp(column, "date") == 0 || g_str_has_suffix(column, "_at");
}

static const char *cell_text(const struct sql_rows *table, size_t row, size_t column, char out[CELL_BYTES])
{
    const char *cell = sql_text(table, row, column);
    if (cell[0] == '\0')
        return "-";
    if (table->types[column] == SQL_TYPE_BOOL)
        return cell[0] == 't' ? "yes" : "no";
    char *local OD_CLEANUP(base_free) = has_times(table->names[column]) ? format_time_local(cell) : NULL;
    return log_escape(local != NULL ? local : cell, out, CELL_BYTES);
}

/* line 0: the heading. */
static const char *line_text(const struct sql_rows *table, size_t line, size_t column, char out[CELL_BYTES])
{
    return line == 0 ? table->names[column] : cell_text(table, line - 1, column, out);
}

static bool is_empty(const struct sql_rows *table, size_t row, size_t column)
{
    const char *cell = sql_text(table, row, column);
    return cell[0] == '\0' || (table->types[column] == SQL_TYPE_JSON && strcmp(cell, "[]") == 0);
}

/* Returns the columns of a terminal: 0 for combining characters, 2 for wide ones. */
static int text_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text += g_utf8_skip[(unsigned char)*text]) {
        gunichar c = g_utf8_get_char(text);
        width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return width;
}

/* Returns 0 without any value. */
static int column_width(const struct sql_rows *table, size_t column)
{
    char text[CELL_BYTES];
    int width = text_width(table->names[column]);
    bool any = false;
    for (size_t row = 0; row < table->count; row++) {
        int needed = text_width(cell_text(table, row, column, text));
        any = any || !is_empty(table, row, column);
        width = MAX(width, needed);
    }
    return any ? width : 0;
}

static void print_cell(const char *text, int width, bool right, bool last)
{
    int padding = width - text_width(text);
    printf("%*s%s%*s%s", right ? padding : 0, "", text, last ? 0 : GAP + (right ? 0 : padding), "", last ? "\n" : "");
}

void table_print(const struct sql_rows *table, const char *without)
{
    char text[CELL_BYTES];
    size_t last = 0;
    int *widths OD_CLEANUP(base_free) = base_alloc((table->columns + 1) * sizeof(*widths));
    for (size_t column = 0; column < table->columns; column++) {
        widths[column] = g_strcmp0(table->names[column], without) != 0 ? column_width(table, column) : 0;
        last = widths[column] > 0 ? column : last;
    }
    for (size_t line = 0; line <= table->count; line++)
        for (size_t column = 0; column <= last; column++)
            if (widths[column] > 0)
                print_cell(line_text(table, line, column, text), widths[column],
                           table->types[column] == SQL_TYPE_NUMBER, column == last);
}

void table_print_row(const struct sql_rows *table, size_t row)
{
    char text[CELL_BYTES];
    for (size_t column = 0; column < table->columns; column++)
        if (!is_empty(table, row, column))
            printf("%s: %s\n", table->names[column], cell_text(table, row, column, text));
}

static json_t *cell_json(const struct sql_rows *table, size_t row, size_t column)
{
    const char *cell = sql_text(table, row, column);
    json_t *value = NULL;
    if (sql_is_null(table, row, column))
        return json_null();
    switch (table->types[column]) {
    case SQL_TYPE_NUMBER:
        return strchr(cell, '.') != NULL ? json_real(g_ascii_strtod(cell, NULL))
                                         : json_integer(g_ascii_strtoll(cell, NULL, 10));
    case SQL_TYPE_BOOL:
        return json_boolean(cell[0] == 't');
    case SQL_TYPE_JSON:
        value = json_loads(cell, JSON_DECODE_ANY, NULL);
        break;
    case SQL_TYPE_TEXT:
        break;
    }
    return value != NULL ? value : replay_json_text(cell);
}

json_t *table_row_json(const struct sql_rows *table, size_t row)
{
    json_t *object = json_object();
    for (size_t column = 0; column < table->columns; column++)
        json_object_set_new(object, table->names[column], cell_json(table, row, column));
    return object;
}

json_t *table_json(const struct sql_rows *table)
{
    json_t *rows = json_array();
    for (size_t row = 0; row < table->count; row++)
        json_array_append_new(rows, table_row_json(table, row));
    return rows;
}

void table_print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    putchar('\n');
    json_decref(json);
}
