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

bool ledger_backup(const struct config *config, const char *file, struct error *error)
{
    const struct sql_engine *engine = sql_load(config, error);
    if (engine == NULL)
        return false;
    if (engine->backup(config, file, error))
        return true;
    sql_add_hint(engine, config, SQL_OPERATOR, error);
    return false;
}

struct sql_rows *ledger_damage(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(file_damage), error);
}

/* The query may rely on the search_path of its role. */
static bool account_query_once(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                               char *ret_columns[4], struct error *error)
{
    if (!ledger_connect(ledger, error))
        return false;
    ledger_add_begin_as_is(ledger);
    size_t mark = sql_mark(ledger->sql);
    sql_add_text(ledger->sql, query, SQL_TEXT(address));
    sql_add(ledger->sql, SQL_STEP(rollback));
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    sql_finish(ledger->sql);
    if (rows == NULL) {
        ledger_rollback(ledger);
        return error_prefix(error, "route.account_query");
    }
    if (rows->count > 1)
        return error_set(error, "route.account_query: %zu rows for one address, at most one is allowed", rows->count);
    if (rows->columns == 0) /* this does not say that the account is unknown */
        return error_set(error, "route.account_query: the statement returns no columns");
    *ret_found = rows->count == 1;
    for (size_t i = 0; *ret_found && i < 4; i++)
        ret_columns[i] = i < rows->columns ? sql_copy(rows, 0, i) : NULL;
    return true;
}

bool ledger_account_query(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                          char *ret_columns[4], struct error *error)
{
    bool kept = ledger->sql != NULL;
    return account_query_once(ledger, query, address, ret_found, ret_columns, error) ||
           (ledger_lost_reused(ledger, kept) &&
            account_query_once(ledger, query, address, ret_found, ret_columns, error));
}
