/* SPDX-License-Identifier: ISC */
#include "sql/sql_rows.h"

#include <stdlib.h>

struct sql_rows *sql_rows_new(size_t count, size_t columns)
{
    struct sql_rows *rows = base_alloc(sizeof(*rows));
    rows->count = count;
    rows->columns = columns;
    rows->names = base_alloc((columns + 1) * sizeof(*rows->names));
    rows->types = base_alloc((columns + 1) * sizeof(*rows->types));
    rows->cells = base_alloc((count * columns + 1) * sizeof(*rows->cells));
    return rows;
}

void sql_rows_free(struct sql_rows **rows)
{
    if (*rows == NULL)
        return;
    if ((*rows)->free_owner != NULL)
        (*rows)->free_owner((*rows)->owner);
    base_free(&(*rows)->names);
    base_free(&(*rows)->types);
    base_free(&(*rows)->cells);
    base_free(rows);
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
