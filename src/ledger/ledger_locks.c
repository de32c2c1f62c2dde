/* SPDX-License-Identifier: ISC */

#include "ledger/ledger_internal.h"

_Static_assert((int)LOCKS_ADVISORY_WAITING == (int)LOCKS_WAITING, "columns");
_Static_assert((int)LOCKS_ROW_WAITING == (int)LOCKS_WAITING, "columns");
_Static_assert((int)LOCKS_LEASE_WAITING == (int)LOCKS_WAITING, "columns");
_Static_assert((int)LOCKS_SESSION_WAITING == (int)LOCKS_WAITING, "columns");

struct sql_rows *ledger_locks(struct ledger *ledger, struct error *error)
{
    static const enum sql_step steps[LOCK_METHODS] = {
        [LOCK_METHOD_ADVISORY] = SQL_STEP_locks_advisory,
        [LOCK_METHOD_ROW] = SQL_STEP_locks_row,
        [LOCK_METHOD_LEASE] = SQL_STEP_locks_lease,
        [LOCK_METHOD_SESSION] = SQL_STEP_locks_session,
    };
    return ledger_query(ledger, steps[ledger->config->lock.method],
                        SQL_VALUES(locks_lease, .claim_ms = SQL_NUMBER(ledger_hold_wait_ms(ledger->config))), error);
}

char *ledger_locks_hint(const struct ledger *ledger)
{
    return sql_with_schema(ledger->config, ledger->engine->holders_hint);
}
