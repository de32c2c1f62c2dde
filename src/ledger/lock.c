/* SPDX-License-Identifier: ISC
 *
 * The statements of each method. */
#include "ledger/lock.h"

#include <string.h>
#include <unistd.h>

/* Not by the views pg_locks and pg_stat_activity: a first use of those takes the server three times as long. Everybody
 * sees a session's user and application_name. */
#define HOLDER(which) \
    "SELECT a.application_name, pg_catalog.pg_get_userbyid(a.usesysid), a.pid, a.application_name LIKE 'oncedrop %'" \
    " FROM pg_catalog.pg_lock_status() l CROSS JOIN LATERAL pg_catalog.pg_stat_get_activity(l.pid) a" \
    " WHERE l.granted AND " which " LIMIT 1"

#define EXPIRY "pg_catalog.clock_timestamp() + $3::bigint * interval '1 millisecond'"
#define NO_FLUSH "pg_catalog.set_config('synchronous_commit', 'off', true)"

/* The lock is taken by a statement that does nothing else: in a larger one it could be taken after the snapshot that
 * other parts of the statement read from. No statement releases it: the end of the transaction does.
 *
 * advisory: a bigint key stands in pg_locks in two halves with objsubid 1.
 * lease: the fence behind it are the attempts and claims of the copies, which are durable; a lease that the database forgets
 * in a crash does no harm, so nobody waits for the disk.
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
    [LOCK_METHOD_LEASE] =
        {
            .name = "lease",
            .acquire = "INSERT INTO @schema@.lease AS l (key, owner, expires_at, host, pid, session)"
                       " SELECT $1::bigint, $2::bigint, " EXPIRY ", $4::text, $5::integer, $6::text FROM " NO_FLUSH
                       " ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, taken_at = EXCLUDED.taken_at,"
                       " expires_at = EXCLUDED.expires_at, host = EXCLUDED.host, pid = EXCLUDED.pid,"
                       " session = EXCLUDED.session, \"user\" = EXCLUDED.\"user\""
                       " WHERE l.expires_at <= pg_catalog.clock_timestamp() OR l.owner = EXCLUDED.owner RETURNING true",
            .reassert = "UPDATE @schema@.lease l SET expires_at = " EXPIRY " FROM " NO_FLUSH
                        " WHERE l.key = $1::bigint AND l.owner = $2::bigint RETURNING true",
            .holder = "SELECT session, \"user\", pid || ' on ' || host, session LIKE 'oncedrop %' FROM @schema@.lease"
                      " WHERE key = $1::bigint AND expires_at > pg_catalog.clock_timestamp()",
        },
};

/* count: how many of the parameters the statement has. */
static bool add(struct pg *pg, const char *sql, size_t count, const struct lock *lock, struct fault *fault)
{
    char key[24], owner[24], lasts[24], pid[24];
    bool slot = lock->method == LOCK_METHOD_ROW;
    const struct pg_param params[] = {
        {.data = pg_number(slot ? lock->key & (LOCK_SLOTS - 1) : lock->key, key)},
        {.data = pg_number(lock->owner, owner)},
        {.data = pg_number(lock->lasts_ms, lasts)},
        {.data = lock->host},
        {.data = pg_number(getpid(), pid)},
        {.data = lock->session},
    };
    return pg_add(pg, sql, count, params, fault);
}

bool lock_outlives_transaction(enum lock_method method)
{
    return method == LOCK_METHOD_LEASE;
}

const char *lock_method_name(enum lock_method method)
{
    return methods[method].name;
}

bool lock_add_acquire(struct pg *pg, const struct lock *lock, struct fault *fault)
{
    return add(pg, methods[lock->method].acquire, lock_outlives_transaction(lock->method) ? 6 : 1, lock, fault);
}

bool lock_add_reassert(struct pg *pg, const struct lock *lock, struct fault *fault)
{
    return add(pg, methods[lock->method].reassert, lock_outlives_transaction(lock->method) ? 3 : 1, lock, fault);
}

bool lock_add_release(struct pg *pg, const struct lock *lock, struct fault *fault)
{
    return add(pg, "DELETE FROM @schema@.lease WHERE key = $1::bigint AND owner = $2::bigint", 2, lock, fault);
}

bool lock_add_release_all(struct pg *pg, int64_t owner, struct fault *fault)
{
    char number[24];
    const struct pg_param param = {.data = pg_number(owner, number)};
    return pg_add(pg, "DELETE FROM @schema@.lease WHERE owner = $1::bigint", 1, &param, fault);
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
    return add(pg, methods[lock->method].holder, 1, lock, fault);
}
