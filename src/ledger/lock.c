/* SPDX-License-Identifier: ISC
 *
 * The statements of each method. */
#include "ledger/lock.h"

#include <string.h>

/* Not by the views pg_locks and pg_stat_activity: a first use of those takes the server three times as long. Everybody
 * sees a session's user and application_name. */
#define HOLDER(which) \
    "SELECT a.application_name, pg_catalog.pg_get_userbyid(a.usesysid), a.pid, a.application_name LIKE 'oncedrop %'" \
    " FROM pg_catalog.pg_lock_status() l CROSS JOIN LATERAL pg_catalog.pg_stat_get_activity(l.pid) a" \
    " WHERE l.granted AND " which " LIMIT 1"

/* The lock is taken by a statement that does nothing else: in a larger one it could be taken after the snapshot that
 * other parts of the statement read from. No statement releases it: the end of the transaction does.
 *
 * advisory: a bigint key stands in pg_locks in two halves with objsubid 1.
 * row: SKIP LOCKED returns no row instead of waiting. Who has locked a row is its xmax, until others do. */
static const struct {
    const char *name, *acquire, *reassert, *holder;
} methods[LOCK_METHODS] = {
    [LOCK_METHOD_ADVISORY] =
        {
            .name = "advisory",
            .acquire = "SELECT pg_catalog.pg_try_advisory_xact_lock($1)",
            .reassert = "SELECT pg_catalog.pg_advisory_xact_lock($1)",
            .holder = HOLDER("l.locktype = 'advisory' AND l.objsubid = 1"
                             " AND ((l.classid::bigint << 32) | l.objid::bigint) = $1::bigint AND l.database ="
                             " (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"),
        },
    [LOCK_METHOD_ROW] =
        {
            .name = "row",
            .acquire = "SELECT true FROM @schema@.slot WHERE slot = $1 FOR UPDATE SKIP LOCKED",
            .reassert = "SELECT true FROM @schema@.slot WHERE slot = $1 FOR UPDATE",
            .holder = HOLDER("l.locktype = 'transactionid'"
                             " AND l.transactionid = (SELECT xmax FROM @schema@.slot WHERE slot = $1)"),
        },
    [LOCK_METHOD_LEASE] = {.name = "lease"},
};

static bool add(struct pg *pg, const char *sql, const struct lock *lock, struct fault *fault)
{
    char text[24];
    bool slot = lock->method == LOCK_METHOD_ROW;
    const struct pg_param param = {.data = pg_number(slot ? lock->key & (LOCK_SLOTS - 1) : lock->key, text)};
    return pg_add(pg, sql, 1, &param, fault);
}

bool lock_is_known(enum lock_method method)
{
    return methods[method].acquire != NULL;
}

const char *lock_method_name(enum lock_method method)
{
    return methods[method].name;
}

bool lock_add_acquire(struct pg *pg, const struct lock *lock, struct fault *fault)
{
    return add(pg, methods[lock->method].acquire, lock, fault);
}

bool lock_add_reassert(struct pg *pg, const struct lock *lock, struct fault *fault)
{
    return add(pg, methods[lock->method].reassert, lock, fault);
}

bool lock_granted(const PGresult *result)
{
    return PQntuples(result) == 1 && pg_bool(result, 0, 0);
}

bool lock_reasserted(const PGresult *result)
{
    return PQntuples(result) == 1;
}

bool lock_is_timeout(const char *sqlstate)
{
    return strcmp(sqlstate, "55P03") == 0; /* lock_not_available */
}

bool lock_add_holder(struct pg *pg, const struct lock *lock, struct fault *fault)
{
    return add(pg, methods[lock->method].holder, lock, fault);
}
