/* SPDX-License-Identifier: ISC */
#include "sql/sql_value.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 256 /* bytes */

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
