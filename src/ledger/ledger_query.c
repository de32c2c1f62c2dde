/* SPDX-License-Identifier: ISC */

#include "ledger/ledger_internal.h"

struct sql_rows *ledger_table_new(const char *const *names, size_t columns)
{
    struct sql_rows *table = sql_rows_new(columns);
    for (size_t i = 0; i < columns; i++)
        sql_rows_name(table, i, names[i], SQL_TYPE_TEXT);
    return table;
}

struct sql_rows *ledger_query(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                              struct error *error)
{
    if (!ledger_connect(ledger, error))
        return NULL;
    sql_add(ledger->sql, SQL_STEP(for_people));
    sql_unlimit_result(ledger->sql);
    return ledger_query_here(ledger, SQL_OPERATOR, step, values, error);
}

char *ledger_server_version(struct ledger *ledger, struct error *error)
{
    struct sql_rows *table OD_CLEANUP(sql_rows_free) = ledger_query(ledger, SQL_STEP(server_version), error);
    return table != NULL ? base_strdup(sql_text(table, 0, 0)) : NULL;
}
