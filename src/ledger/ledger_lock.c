/* SPDX-License-Identifier: ISC
 *
 * The statements of each method, and who has the lock when it is not granted: by then that session may have gone. */
#include "ledger/ledger_lock.h"

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

bool ledger_leases(const struct ledger *ledger)
{
    return ledger->config->lock.method == LOCK_METHOD_LEASE;
}

const char *lock_method_name(enum lock_method method)
{
    return methods[method].name;
}

bool ledger_agrees(const struct ledger *ledger, const char *recorded, struct fault *fault)
{
    const char *method = lock_method_name(ledger->config->lock.method);
    if (recorded != NULL && strcmp(recorded, method) == 0)
        return true;
    return fault_set(fault,
                     "[lock] method = %s, but the hosts of this database have agreed on %s, and with different methods"
                     " deliveries would not exclude each other (to change it everywhere: oncedrop schema method)",
                     method, recorded != NULL ? recorded : "none");
}

int64_t ledger_hold_wait_ms(const struct config *config)
{
    return config->lock.wait > 1000 ? config->lock.wait : 1000;
}

bool ledger_set_lock(struct ledger *ledger, int64_t key, struct fault *fault)
{
    ledger->lock_key = key;
    ledger->leased = false;
    return !ledger_leases(ledger) || base_random(&ledger->lock_owner, fault);
}

void ledger_note_lock(struct ledger *ledger, bool held)
{
    ledger->in_transaction = held && !ledger_leases(ledger);
    ledger->leased = held && ledger_leases(ledger);
}

/* count: how many of the parameters the statement has. A lease lasts as long as the deadline, which ends whoever has it. */
static void add_method(struct ledger *ledger, const char *sql, size_t count, int64_t key)
{
    bool slot = ledger->config->lock.method == LOCK_METHOD_ROW;
    const struct pg_param params[] = {
        PG_NUMBER(slot ? key & (LOCK_SLOTS - 1) : key),
        PG_NUMBER(ledger->lock_owner),
        PG_NUMBER(ledger->config->delivery.deadline),
        PG_TEXT(ledger->host),
        PG_NUMBER(getpid()),
        PG_TEXT(ledger->application),
    };
    pg_add(ledger->pg, sql, count, params);
}

void ledger_add_acquire(struct ledger *ledger, int64_t key)
{
    add_method(ledger, methods[ledger->config->lock.method].acquire, ledger_leases(ledger) ? 6 : 1, key);
}

void ledger_add_reassert(struct ledger *ledger)
{
    add_method(ledger, methods[ledger->config->lock.method].reassert, ledger_leases(ledger) ? 3 : 1, ledger->lock_key);
}

void ledger_add_release(struct ledger *ledger)
{
    if (ledger->leased)
        add_method(ledger, "DELETE FROM @schema@.lease WHERE key = $1::bigint AND owner = $2::bigint", 2,
                   ledger->lock_key);
}

void ledger_add_release_all(struct ledger *ledger)
{
    if (ledger_leases(ledger))
        pg_add(ledger->pg, "DELETE FROM @schema@.lease WHERE owner = $1::bigint",
               PG_PARAMS(PG_NUMBER(ledger->lock_owner)));
}

bool lock_granted(const PGresult *result)
{
    return PQntuples(result) == 1 && pg_bool(result, 0, 0);
}

bool lock_reasserted(const PGresult *result)
{
    return PQntuples(result) == 1;
}

bool lock_timed_out(const struct fault *fault)
{
    return strcmp(fault->code, "55P03") == 0; /* lock_not_available */
}

void ledger_add_rollback(struct ledger *ledger)
{
    if (!ledger_leases(ledger) || pg_in_transaction(ledger->pg))
        pg_add(ledger->pg, "ROLLBACK", 0, NULL);
}

void ledger_add_end(struct ledger *ledger)
{
    if (ledger_leases(ledger))
        pg_add(ledger->pg, "COMMIT", 0, NULL);
}

void ledger_add_begin_under(struct ledger *ledger)
{
    if (ledger_leases(ledger))
        ledger_add_begin(ledger, PG_TIMEOUT_MS);
}

void ledger_rollback(struct ledger *ledger)
{
    struct fault ignored;
    bool usable = ledger->pg != NULL && pg_usable(ledger->pg), leased = ledger->leased;
    ledger->in_transaction = false;
    if (usable && (!ledger_leases(ledger) || leased || pg_in_transaction(ledger->pg))) {
        ledger_add_rollback(ledger);
        if (leased) {
            ledger_add_begin_idle(ledger);
            ledger_add_release(ledger);
            pg_add(ledger->pg, "COMMIT", 0, NULL);
        }
        if (pg_send(ledger->pg, &ignored))
            ledger_finish(ledger);
    }
    ledger->leased = false;
}

void ledger_add_holder(struct ledger *ledger)
{
    add_method(ledger, methods[ledger->config->lock.method].holder, 1, ledger->lock_key);
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

char *ledger_holder(struct ledger *ledger)
{
    struct fault ignored;
    if (ledger->holder == NULL && ledger->pg != NULL && !ledger->in_transaction && pg_usable(ledger->pg)) {
        ledger_add_path(ledger);
        ledger_add_holder(ledger);
        if (pg_send(ledger->pg, &ignored))
            ledger_take_holder(ledger, pg_mark(ledger->pg) - 1);
        pg_finish(ledger->pg);
    }
    char *holder = ledger->holder;
    ledger->holder = NULL;
    return holder;
}
