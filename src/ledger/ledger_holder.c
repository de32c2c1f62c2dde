/* SPDX-License-Identifier: ISC
 *
 * Asked when a lock was not granted; by then its holder may have gone. */
#include "ledger/ledger_session.h"

/* Not by the views pg_locks and pg_stat_activity: a first use of those takes the server three times as long. A bigint key
 * stands in two halves with objsubid 1. Everybody sees a session's user and application_name. */
#define HOLDER \
    "SELECT a.application_name, pg_catalog.pg_get_userbyid(a.usesysid), a.pid, a.application_name LIKE 'oncedrop %'" \
    " FROM pg_catalog.pg_lock_status() l CROSS JOIN LATERAL pg_catalog.pg_stat_get_activity(l.pid) a" \
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted" \
    " AND ((l.classid::bigint << 32) | l.objid::bigint) = $1::bigint" \
    " AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) LIMIT 1"

bool ledger_add_holder(struct ledger *ledger, const struct ledger_message *message, struct fault *fault)
{
    char key[24];
    const struct pg_param param = {.data = pg_number(ledger_lock_key(message), key)};
    return pg_add(ledger->pg, HOLDER, 1, &param, fault);
}

void ledger_take_holder(struct ledger *ledger, size_t mark)
{
    struct fault ignored;
    PGresult *result OD_CLEANUP(pg_clear) = pg_take(ledger->pg, mark, &ignored);
    base_free(&ledger->holder);
    if (result == NULL || PQntuples(result) == 0)
        return;
    const char *name = PQgetvalue(result, 0, 0);
    if (pg_bool(result, 0, 3))
        ledger->holder = base_strdup(name);
    else
        ledger->holder = base_printf("%s (database user %s, process %s)",
                                     name[0] != '\0' ? name : "a session without a name", PQgetvalue(result, 0, 1),
                                     PQgetvalue(result, 0, 2));
}

char *ledger_holder(struct ledger *ledger, const struct ledger_message *message)
{
    struct fault ignored;
    char *holder = ledger->holder;
    if (holder == NULL && ledger->pg != NULL && !ledger->in_transaction && pg_usable(ledger->pg)) {
        if (ledger_add_holder(ledger, message, &ignored) && pg_send(ledger->pg, &ignored))
            ledger_take_holder(ledger, 0);
        pg_finish(ledger->pg);
        holder = ledger->holder;
    }
    ledger->holder = NULL;
    return holder;
}
