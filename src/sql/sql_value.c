/* SPDX-License-Identifier: ISC */
#include "sql/sql_value.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 256 /* bytes, of texts in rows */

/* Returns a length of at most max that splits no character. */
static size_t cut(const char *text, size_t length, size_t max)
{
    if (length <= max)
        return length;
    size_t end = max;
    while (end > 0 && max - end < 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

char *sql_value_truncate(const char *text, size_t max)
{
    size_t length = strlen(text);
    if (length <= max && g_utf8_validate(text, (gssize)length, NULL))
        return NULL;
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)cut(text, length, max));
    return base_strndup(valid, cut(valid, strlen(valid), max)); /* U+FFFD takes three bytes for one */
}

static void append_quoted(GString *all, const char *text, bool json)
{
    char *truncated OD_CLEANUP(base_free) = sql_value_truncate(text, SQL_TEXT_MAX);
    g_string_append_c(all, '"');
    for (const char *from = truncated != NULL ? truncated : text; *from != '\0'; from++) {
        if (json && (unsigned char)*from < ' ')
            g_string_append_printf(all, "\\u%04x", (unsigned)*from);
        else if (*from == '"' || *from == '\\')
            g_string_append_printf(all, "\\%c", *from);
        else
            g_string_append_c(all, *from);
    }
    g_string_append_c(all, '"');
}

char *sql_value_list(const struct sql_value *list, bool json)
{
    GString *all = g_string_new(json ? "[" : "{");
    for (size_t i = 0; i < list->size; i++) {
        g_string_append(all, i > 0 ? "," : "");
        if (list->kind == SQL_KIND_NUMBERS)
            g_string_append_printf(all, "%" G_GINT64_FORMAT, list->numbers[i]);
        else if (list->texts[i] == NULL)
            g_string_append(all, json ? "null" : "NULL");
        else
            append_quoted(all, list->texts[i], json);
    }
    g_string_append_c(all, json ? ']' : '}');
    return g_string_free(all, FALSE);
}

/* Returns the value's number in the statement, from 1. */
static size_t number_of(size_t value, size_t order[SQL_VALUES_MAX], size_t *count)
{
    size_t i = 0;
    while (i < *count && order[i] != value)
        i++;
    if (i == SQL_VALUES_MAX)
        abort();
    if (i == *count)
        order[(*count)++] = value;
    return i + 1;
}

/* printf(3) would take most of the time. */
static void append_number(GString *sql, size_t number)
{
    g_string_append_c(sql, '$');
    if (number >= 10)
        g_string_append_c(sql, (char)('0' + number / 10));
    g_string_append_c(sql, (char)('0' + number % 10));
}

char *sql_text_render(const char *text, const struct sql_value *values, struct sql_value ret[SQL_VALUES_MAX],
                      size_t *ret_count)
{
    size_t order[SQL_VALUES_MAX];
    GString *sql = g_string_sized_new(strlen(text));
    *ret_count = 0;
    while (*text != '\0') {
        if (*text == SQL_TEXT_IF && values[sql_text_index(text + 1)].kind == SQL_KIND_NONE) {
            text += strcspn(text, "\n");
        } else if (*text == SQL_TEXT_IF) {
            text += 3;
        } else if (*text == SQL_TEXT_VALUE) {
            append_number(sql, number_of(sql_text_index(text + 1), order, ret_count));
            text += 3;
        } else {
            size_t plain = strcspn(text, (const char[]){SQL_TEXT_VALUE, SQL_TEXT_IF, '\0'});
            g_string_append_len(sql, text, (gssize)plain);
            text += plain;
        }
    }
    for (size_t i = 0; i < *ret_count; i++)
        ret[i] = values[order[i]];
    return g_string_free(sql, FALSE);
}

struct sql_rows *sql_rows_new(size_t columns)
{
    struct sql_rows *rows = base_alloc(sizeof(*rows));
    rows->columns = columns;
    rows->names = base_alloc((columns + 1) * sizeof(*rows->names));
    rows->types = base_alloc((columns + 1) * sizeof(*rows->types));
    return rows;
}

void sql_rows_free(struct sql_rows **rows)
{
    if (*rows == NULL)
        return;
    g_clear_pointer(&(*rows)->texts, g_string_chunk_free);
    base_free(&(*rows)->names);
    base_free(&(*rows)->types);
    base_free(&(*rows)->cells);
    base_free(rows);
}

void sql_rows_drop(gpointer rows)
{
    struct sql_rows *it = rows;
    sql_rows_free(&it);
}

/* Appends a NUL. */
static const char *keep(struct sql_rows *rows, const char *data, size_t size)
{
    if (rows->texts == NULL)
        rows->texts = g_string_chunk_new(CHUNK);
    return g_string_chunk_insert_len(rows->texts, data, (gssize)size);
}

void sql_rows_name(struct sql_rows *rows, size_t column, const char *name, enum sql_type type)
{
    rows->names[column] = keep(rows, name, strlen(name));
    rows->types[column] = type;
}

void sql_rows_add(struct sql_rows *rows, const void *data, size_t size)
{
    if (rows->added == rows->room) {
        rows->room = 2 * rows->room + rows->columns;
        rows->cells = base_realloc(rows->cells, rows->room * sizeof(*rows->cells));
    }
    rows->cells[rows->added++] = data != NULL ? (struct sql_cell){keep(rows, data, size), size}
                                              : (struct sql_cell){.data = NULL};
    rows->count = rows->added / rows->columns;
}

void sql_rows_add_text(struct sql_rows *rows, const char *text)
{
    sql_rows_add(rows, text, text != NULL ? strlen(text) : 0);
}

void sql_rows_remove(struct sql_rows *rows, size_t row)
{
    struct sql_cell *at = &rows->cells[row * rows->columns];
    rows->added -= rows->columns;
    rows->count--;
    memmove(at, at + rows->columns, (rows->added - row * rows->columns) * sizeof(*at));
}

void sql_rows_join(struct sql_rows **rows, struct sql_rows **more)
{
    if (*rows == NULL || (*rows)->columns == 0) {
        sql_rows_free(rows);
        *rows = g_steal_pointer(more);
        return;
    }
    for (size_t i = 0; i < (*more)->added; i++)
        sql_rows_add(*rows, (*more)->cells[i].data, (*more)->cells[i].size);
    sql_rows_free(more);
}

static const struct sql_cell *cell_at(const struct sql_rows *rows, size_t row, size_t column)
{
    if (row >= rows->count || column >= rows->columns)
        abort();
    return &rows->cells[row * rows->columns + column];
}

bool sql_is_null(const struct sql_rows *rows, size_t row, size_t column)
{
    return cell_at(rows, row, column)->data == NULL;
}

const char *sql_text(const struct sql_rows *rows, size_t row, size_t column)
{
    const char *data = cell_at(rows, row, column)->data;
    return data != NULL ? data : "";
}

int64_t sql_number(const struct sql_rows *rows, size_t row, size_t column)
{
    return strtoll(sql_text(rows, row, column), NULL, 10);
}

bool sql_bool(const struct sql_rows *rows, size_t row, size_t column)
{
    return sql_text(rows, row, column)[0] == 't';
}

char *sql_copy(const struct sql_rows *rows, size_t row, size_t column)
{
    return base_strdup(cell_at(rows, row, column)->data);
}
