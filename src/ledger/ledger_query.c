/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_query.h"

#include <stdlib.h>

#include "ledger/ledger_session.h"

void ledger_table_free(struct ledger_table **table)
{
    if (*table == NULL)
        return;
    g_strfreev((*table)->names);
    base_free(&(*table)->types);
    g_clear_pointer(&(*table)->cells, g_ptr_array_unref);
    base_free(table);
}

struct ledger_table *ledger_table_new(const char *const *names, size_t columns)
{
    struct ledger_table *table = base_alloc(sizeof(*table));
    *table = (struct ledger_table){.columns = columns, .cells = g_ptr_array_new_with_free_func(free)};
    table->names = base_alloc((columns + 1) * sizeof(char *));
    table->types = base_alloc(columns * sizeof(*table->types));
    for (size_t i = 0; i < columns; i++)
        table->names[i] = base_strdup(names[i]);
    return table;
}

void ledger_table_add(struct ledger_table *table, const char *text)
{
    g_ptr_array_add(table->cells, text != NULL ? base_strdup(text) : NULL);
    table->rows = table->cells->len / table->columns;
}

void ledger_table_remove(struct ledger_table *table, size_t row)
{
    g_ptr_array_remove_range(table->cells, (guint)(row * table->columns), (guint)table->columns);
    table->rows--;
}

const char *ledger_cell(const struct ledger_table *table, size_t row, size_t column)
{
    const char *cell = g_ptr_array_index(table->cells, row * table->columns + column);
    return cell != NULL ? cell : "";
}

void ledger_table_join(struct ledger_table **table, struct ledger_table **more)
{
    if (*table == NULL || (*table)->columns == 0) {
        ledger_table_free(table);
        *table = *more;
        *more = NULL;
        return;
    }
    g_ptr_array_extend_and_steal((*table)->cells, g_steal_pointer(&(*more)->cells));
    (*table)->rows += (*more)->rows;
    ledger_table_free(more);
}

struct ledger_table *ledger_table_of(const struct sql_rows *rows)
{
    struct ledger_table *table = base_alloc(sizeof(*table));
    table->cells = g_ptr_array_new_with_free_func(free);
    if (rows == NULL)
        return table;
    table->columns = rows->columns;
    table->rows = rows->count;
    table->names = base_alloc((rows->columns + 1) * sizeof(char *));
    table->types = base_alloc((rows->columns + 1) * sizeof(*table->types));
    for (size_t column = 0; column < rows->columns; column++) {
        table->names[column] = base_strdup(rows->names[column]);
        table->types[column] = rows->types[column];
    }
    for (size_t row = 0; row < rows->count; row++)
        for (size_t column = 0; column < rows->columns; column++)
            g_ptr_array_add(table->cells, sql_copy(rows, row, column));
    return table;
}

struct ledger_table *ledger_query(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                  struct error *error)
{
    if (!ledger_connect(ledger, error))
        return NULL;
    sql_add(ledger->sql, SQL_STEP(for_people));
    sql_unlimit_result(ledger->sql);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_query_here(ledger, SQL_OPERATOR, step, values, error);
    return rows != NULL ? ledger_table_of(rows) : NULL;
}

char *ledger_server_version(struct ledger *ledger, struct error *error)
{
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = ledger_query(ledger, SQL_STEP(server_version), error);
    return table != NULL ? base_strdup(ledger_cell(table, 0, 0)) : NULL;
}
