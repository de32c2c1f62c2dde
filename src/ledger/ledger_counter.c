/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

#define LONGEST_MS (60 * 60 * INT64_C(1000)) /* years of attempts may take this long */

struct sql_rows *ledger_counters(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(counters), error);
}

bool ledger_counter_is_due(struct ledger *ledger, bool *ret, struct error *error)
{
    struct sql_rows *due OD_CLEANUP(sql_rows_free) = ledger_query(ledger, SQL_STEP(counter_is_due), error);
    if (due != NULL)
        *ret = due->count > 0;
    return due != NULL;
}

bool ledger_counter_update(struct ledger *ledger, struct error *error)
{
    if (!ledger_connect(ledger, error))
        return false;
    sql_set_timeout(ledger->sql, SQL_TIMEOUT_MS + LONGEST_MS);
    struct sql_rows *read OD_CLEANUP(sql_rows_free) =
        ledger_query_here(ledger, SQL_OPERATOR, SQL_STEP(read_tries), error);
    if (read == NULL)
        return false;
    ledger_add_begin(ledger, LONGEST_MS);
    sql_add(ledger->sql, SQL_STEP(lock_counter_buckets));
    sql_add(ledger->sql, SQL_STEP(lock_counter));
    sql_add(ledger->sql, SQL_STEP(count_rows));
    sql_add(ledger->sql, SQL_STEP(count_tries));
    sql_add(ledger->sql, SQL_STEP(commit));
    bool committed = sql_send(ledger->sql, error) && sql_committed(ledger->sql, sql_mark(ledger->sql) - 1, error);
    sql_finish(ledger->sql);
    if (committed)
        return true;
    ledger_rollback(ledger);
    ledger_add_hint(ledger, SQL_OPERATOR, error);
    return false;
}
