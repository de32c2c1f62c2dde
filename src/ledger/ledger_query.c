/* SPDX-License-Identifier: ISC
 *
 * Converts results to tables that outlive them. */
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

/* By the OIDs in pg_type.dat, which never change. */
static enum ledger_type type_of(Oid oid)
{
    static const Oid numbers[] = {20, 21, 23, 700, 701, 1700};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (oid == numbers[i])
            return LEDGER_NUMBER;
    return oid == 16 ? LEDGER_BOOLEAN : oid == 114 || oid == 3802 ? LEDGER_JSON : LEDGER_TEXT;
}

struct ledger_table *ledger_table_of(const PGresult *result)
{
    struct ledger_table *table = base_alloc(sizeof(*table));
    table->cells = g_ptr_array_new_with_free_func(free);
    if (result == NULL)
        return table;
    table->columns = (size_t)PQnfields(result);
    table->rows = (size_t)PQntuples(result);
    table->names = base_alloc((table->columns + 1) * sizeof(char *));
    table->types = base_alloc((table->columns + 1) * sizeof(*table->types));
    for (int column = 0; column < PQnfields(result); column++) {
        table->names[column] = base_strdup(PQfname(result, column));
        table->types[column] = type_of(PQftype(result, column));
    }
    for (int row = 0; row < PQntuples(result); row++)
        for (int column = 0; column < PQnfields(result); column++)
            g_ptr_array_add(table->cells, pg_copy(result, row, column));
    return table;
}

struct ledger_table *ledger_query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return NULL;
    /* For this query: compiling it (jit) takes a tenth of a second, longer than running it. */
    pg_add(ledger->pg, "SELECT pg_catalog.set_config('jit', 'off', true)", 0, NULL);
    pg_receive_any(ledger->pg);
    PGresult *result OD_CLEANUP(pg_clear) = ledger_ask_here(ledger, LEDGER_OPERATOR, sql, count, params, fault);
    return result != NULL ? ledger_table_of(result) : NULL;
}

char *ledger_server_version(struct ledger *ledger, struct fault *fault)
{
    struct ledger_table *table OD_CLEANUP(ledger_table_free) =
        ledger_query(ledger, "SELECT pg_catalog.current_setting('server_version')", 0, NULL, fault);
    return table != NULL ? base_strdup(ledger_cell(table, 0, 0)) : NULL;
}
