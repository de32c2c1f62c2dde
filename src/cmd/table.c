/* SPDX-License-Identifier: ISC */
#include "cmd/table.h"
#include "cmd/cmd.h"

#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/terminal.h"
#include "replay/replay.h"

#define CELL_BYTES 4096
#define GAP 2
#define NO_COLUMN SIZE_MAX
#define KEPT "queue_id" /* never omitted: Postfix's log has it */

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

/* Columns that may be truncated, and to which width. Part of a time, id, number or state is useless. */
static const struct {
    const char *name;
    int least;
} cuttable[] = {
    {"account", 20}, {"address", 20},    {"claimed_by", 20},
    {"from", 20},    {"recipient", 20},  {"original_recipient", 20},
    {"sender", 20},  {"recipients", 12}, {"mailbox", 12},
    {"name", 12},    {"group", 12},      {"filename", 12},
    {"subject", 30}, {"error", 12},      {"reason", 12},
    {"text", 12},    {"session", 12},
};

static const struct {
    const char *word, *colour;
} colours[] = {
    {"stored", "\033[32m"},    {"duplicate", "\033[32m"}, {"pending", "\033[33m"},
    {"appending", "\033[33m"}, {"busy", "\033[33m"},      {"failed", "\033[31m"},
};

static void print_style(const char *style)
{
    fputs(terminal_coloured(STDOUT_FILENO) ? style : "", stdout);
}

static const char *colour_of(const char *text)
{
    for (size_t i = 0; terminal_coloured(STDOUT_FILENO) && i < G_N_ELEMENTS(colours); i++)
        if (strcmp(text, colours[i].word) == 0)
            return colours[i].colour;
    return "";
}

static bool has_times(const char *column)
{
    return strcmp(column, "at") == 0 || strcmp(column, "date") == 0 || g_str_has_suffix(column, "_at");
}

/* Text for people; a pipe gets delays in seconds. */
static const char *cell_text(const struct sql_rows *table, size_t row, size_t column, char out[CELL_BYTES])
{
    const char *cell = sql_text(table, row, column);
    if (cell[0] == '\0')
        return "-";
    if (table->types[column] == SQL_TYPE_BOOL)
        return cell[0] == 't' ? "yes" : "no";
    if (has_times(table->names[column])) {
        char *local OD_CLEANUP(base_free) = format_time_local(cell);
        return log_escape(local, out, CELL_BYTES);
    }
    if (strcmp(table->names[column], "delay") == 0 && terminal_width(STDOUT_FILENO) > 0)
        return format_duration(1000 * g_ascii_strtod(cell, NULL), out);
    return log_escape(cell, out, CELL_BYTES);
}

struct column {
    int width; /* 0: not printed */
    int least; /* if truncated */
    bool right;
};

static void print_cell(const char *text, const struct column *column, bool last)
{
    char *fitted OD_CLEANUP(base_free) =
        terminal_columns(text) <= column->width
            ? base_strdup(text)
            : base_printf("%.*s…", (int)terminal_truncate(text, column->width - 1), text);
    const char *colour = colour_of(text);
    int padding = column->width - terminal_columns(fitted);
    printf("%*s%s%s%s%*s%s", column->right ? padding : 0, "", colour, fitted, colour[0] != '\0' ? PLAIN : "",
           last ? 0 : GAP + (column->right ? 0 : padding), "", last ? "\n" : "");
}

/* least: when truncated. */
static int sum_of(const struct column *columns, size_t count, bool least)
{
    int sum = -GAP;
    for (size_t i = 0; i < count; i++)
        sum += columns[i].width > 0 ? (least ? columns[i].least : columns[i].width) + GAP : 0;
    return sum;
}

/* Narrows the columns that exceed their minimum most. */
static void shrink(struct column *columns, size_t count, int room)
{
    while (sum_of(columns, count, false) > room) {
        size_t max = 0;
        for (size_t i = 1; i < count; i++)
            max = columns[i].width - columns[i].least > columns[max].width - columns[max].least ? i : max;
        if (columns[max].width <= columns[max].least)
            return;
        columns[max].width--;
    }
}

static bool is_empty(const struct sql_rows *table, size_t row, size_t column)
{
    const char *cell = sql_text(table, row, column);
    return cell[0] == '\0' || (table->types[column] == SQL_TYPE_JSON && strcmp(cell, "[]") == 0);
}

/* Returns 0 without any value. */
static int column_width(const struct sql_rows *table, size_t column)
{
    char text[CELL_BYTES];
    int widest = terminal_columns(table->names[column]);
    bool any = false;
    for (size_t row = 0; row < table->count; row++) {
        int wide = terminal_columns(cell_text(table, row, column, text));
        any = any || !is_empty(table, row, column);
        widest = MAX(wide, widest);
    }
    return any ? widest : 0;
}

/* detail: printed below its row; or NO_COLUMN. */
static void print_layout(const struct sql_rows *table, const struct column *columns, size_t detail)
{
    char text[CELL_BYTES];
    size_t last = 0;
    for (size_t column = 0; column < table->columns; column++)
        last = columns[column].width > 0 ? column : last;
    print_style(BOLD);
    for (size_t column = 0; column < table->columns; column++)
        if (columns[column].width > 0)
            print_cell(table->names[column], &columns[column], column == last);
    print_style(PLAIN);
    for (size_t row = 0; row < table->count; row++) {
        for (size_t column = 0; column < table->columns; column++)
            if (columns[column].width > 0)
                print_cell(cell_text(table, row, column, text), &columns[column], column == last);
        if (detail != NO_COLUMN && !is_empty(table, row, detail))
            terminal_print(stdout, 4, "    %s", cell_text(table, row, detail, text));
    }
}

static struct column *measure(const struct sql_rows *table, size_t hidden)
{
    struct column *columns = base_alloc((table->columns + 1) * sizeof(*columns));
    for (size_t i = 0; i < table->columns; i++) {
        columns[i].width = columns[i].least = i != hidden ? column_width(table, i) : 0;
        columns[i].right = table->types[i] == SQL_TYPE_NUMBER;
        for (size_t j = 0; j < G_N_ELEMENTS(cuttable); j++)
            if (strcmp(table->names[i], cuttable[j].name) == 0)
                columns[i].least = MIN(columns[i].width, cuttable[j].least);
    }
    return columns;
}

void table_heading(const char *text)
{
    putchar('\n');
    print_style(BOLD);
    terminal_print(stdout, 0, "%s", text);
    print_style(PLAIN);
}

static void print_filled(const struct sql_rows *table, const struct column *columns, size_t row, int room)
{
    char text[CELL_BYTES];
    g_autoptr(GString) line = g_string_new(NULL);
    for (size_t column = 0; column < table->columns; column++) {
        if (columns[column].width == 0 || is_empty(table, row, column))
            continue;
        char *cell OD_CLEANUP(base_free) =
            base_printf("%s: %s", table->names[column], cell_text(table, row, column, text));
        if (line->len > 0 && terminal_columns(line->str) + GAP + terminal_columns(cell) > room) {
            terminal_print(stdout, 2 * GAP, "%s", line->str);
            g_string_printf(line, "  %s", cell);
        } else {
            g_string_append_printf(line, "%s%s", line->len > 0 ? "  " : "", cell);
        }
    }
    terminal_print(stdout, 2 * GAP, "%s", line->str);
}

static size_t find_column(const struct sql_rows *table, const char *name)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], name) == 0)
            return i;
    return NO_COLUMN;
}

void table_print(const struct sql_rows *table, const char *without)
{
    size_t hidden = without != NULL ? find_column(table, without) : NO_COLUMN;
    struct column *columns OD_CLEANUP(base_free) = measure(table, hidden);
    int room = terminal_width(STDOUT_FILENO);
    bool fits = room == 0 || sum_of(columns, table->columns, false) <= room;
    if (fits && table->count > 0)
        print_layout(table, columns, NO_COLUMN);
    for (size_t row = 0; !fits && row < table->count; row++)
        print_filled(table, columns, row, room);
}

/* Omits columns that do not fit, except KEPT. Returns their names. */
static char *leave_out(const struct sql_rows *table, struct column *columns, int room)
{
    GString *names = g_string_new(NULL);
    size_t kept = find_column(table, KEPT) != NO_COLUMN ? find_column(table, KEPT) : 0;
    for (size_t i = 0; i < table->columns; i++) {
        int reserved = i < kept && columns[kept].width > 0 ? columns[kept].width + GAP : 0;
        if (i == kept || columns[i].width == 0 || sum_of(columns, i + 1, true) + reserved <= room)
            continue;
        columns[i].width = 0;
        g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", table->names[i]);
    }
    return g_string_free(names, FALSE);
}

void table_print_list(const struct sql_rows *table)
{
    int room = terminal_width(STDOUT_FILENO);
    /* a truncated reason says nothing */
    size_t error = find_column(table, "error"), why = error != NO_COLUMN ? error : find_column(table, "reason");
    size_t detail = room > 0 ? why : NO_COLUMN;
    struct column *columns OD_CLEANUP(base_free) = measure(table, detail);
    char *left_out OD_CLEANUP(base_free) = room > 0 ? leave_out(table, columns, room) : NULL;
    if (room > 0)
        shrink(columns, table->columns, room);
    if (table->count > 0)
        print_layout(table, columns, detail);
    if (left_out != NULL && left_out[0] != '\0') {
        fflush(stdout);
        terminal_print(stderr, 0, "Left out here: %s; use a wider window, a pipe, or --json to see them.", left_out);
    }
}

void table_print_line(const char *name, const char *value)
{
    terminal_print(stdout, 2, "%s: %s", name, value);
}

void table_print_row(const struct sql_rows *table, size_t row)
{
    char text[CELL_BYTES];
    for (size_t column = 0; column < table->columns; column++)
        if (!is_empty(table, row, column))
            table_print_line(table->names[column], cell_text(table, row, column, text));
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
