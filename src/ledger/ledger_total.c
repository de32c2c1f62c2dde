/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_total.h"

#include "ledger/ledger_lock.h"

#define LONGEST_MS (60 * 60 * INT64_C(1000)) /* years of attempts may take this long */

struct ledger_table *ledger_totals_ever(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(ledger, SQL_STEP(totals_ever), fault);
}

bool ledger_total_is_due(struct ledger *ledger, bool *ret, struct fault *fault)
{
    struct ledger_table *due OD_CLEANUP(ledger_table_free) = ledger_query(ledger, SQL_STEP(total_is_due), fault);
    if (due != NULL)
        *ret = due->rows > 0;
    return due != NULL;
}

bool ledger_total_up(struct ledger *ledger, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    sql_set_timeout(ledger->sql, SQL_TIMEOUT_MS + LONGEST_MS);
    struct sql_rows *read OD_CLEANUP(sql_rows_free) =
        ledger_ask_here(ledger, SQL_OPERATOR, SQL_STEP(read_tries), fault);
    if (read == NULL)
        return false;
    ledger_add_begin(ledger, LONGEST_MS);
    sql_add(ledger->sql, SQL_STEP(lock_total));
    sql_add(ledger->sql, SQL_STEP(lock_tally));
    sql_add(ledger->sql, SQL_STEP(count_tally));
    sql_add(ledger->sql, SQL_STEP(count_tries));
    sql_add(ledger->sql, SQL_STEP(commit));
    bool committed = sql_send(ledger->sql, fault) && sql_committed(ledger->sql, sql_mark(ledger->sql) - 1, fault);
    sql_finish(ledger->sql);
    if (committed)
        return true;
    ledger_rollback(ledger);
    ledger_add_remedy(ledger, SQL_OPERATOR, fault);
    return false;
}
