/* SPDX-License-Identifier: ISC
 *
 * Asked when a lock was not granted; by then its holder may have gone. */
#include "ledger/ledger_session.h"

/* A bigint key stands in pg_locks as two halves with objsubid 1. Everybody sees a session's user and application_name. */
#define HOLDER \
    "SELECT a.application_name, a.usename, a.pid, a.application_name LIKE 'oncedrop %'" \
    " FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid" \
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted" \
    " AND ((l.classid::bigint << 32) | l.objid::bigint) = $1::bigint" \
    " AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) LIMIT 1"

char *ledger_holder(struct ledger *ledger, const struct ledger_message *message)
{
    struct fault ignored;
    char key[24];
    const struct pg_param param = {.data = pg_number(ledger_lock_key(message), key)};
    if (ledger->pg == NULL || ledger->in_transaction || !pg_usable(ledger->pg))
        return NULL;
    PGresult *result OD_CLEANUP(pg_clear) = ledger_ask_here(ledger, LEDGER_DELIVERY, HOLDER, 1, &param, &ignored);
    if (result == NULL || PQntuples(result) == 0)
        return NULL;
    const char *name = PQgetvalue(result, 0, 0);
    if (pg_bool(result, 0, 3))
        return base_strdup(name);
    return base_printf("%s (database user %s, process %s)", name[0] != '\0' ? name : "a session without a name",
                       PQgetvalue(result, 0, 1), PQgetvalue(result, 0, 2));
}
