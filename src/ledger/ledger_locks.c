/* SPDX-License-Identifier: ISC
 *
 * One statement over the ledger's claims and the server's locks and sessions. */
#include "ledger/ledger_report.h"

#include "ledger/ledger_session.h"

#define SECONDS_SINCE(time) "round(extract(epoch FROM clock_timestamp() - " time ")::numeric, 1)"

/* Everybody sees the user and application_name of every session; other columns depend on the user's roles. backend_start,
 * which every session has, is NULL if they are hidden. pg_locks.waitstart was added in PostgreSQL 14. */
#define SESSION_COLUMNS \
    "l.granted, l.pid AS backend, (pg_catalog.to_jsonb(l) ->> 'waitstart')::timestamptz AS waitstart, a.usename," \
    " a.application_name AS session, coalesce(a.application_name LIKE 'oncedrop %', false) AS ours," \
    " coalesce(a.xact_start, a.state_change) AS since, pg_catalog.host(a.client_addr) AS client," \
    " a.backend_start IS NULL AS hidden"

/* Per method: the locks, each under what deliveries lock (`place`). pg_locks shows a bigint key as two halves with
 * objsubid 1. A locked row is known by the transaction in its xmax: that one holds the lock of its own number, which others
 * wait for; behind the first of those they wait for the row itself. */
#define ADVISORY_LOCKS \
    "SELECT (l.classid::bigint << 32) | l.objid::bigint AS place, " SESSION_COLUMNS \
    " FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid" \
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1" \
    " AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())"
#define ROW_LOCKS \
    "WITH now AS MATERIALIZED (SELECT * FROM pg_catalog.pg_locks)" \
    " SELECT l.place, " SESSION_COLUMNS \
    " FROM (SELECT s.slot::bigint AS place, n.* FROM now n" \
    " JOIN @schema@.slot s ON s.xmax = n.transactionid WHERE n.locktype = 'transactionid'" \
    " UNION ALL SELECT s.slot::bigint, n.* FROM now n" \
    " JOIN @schema@.slot s ON s.ctid = ('(' || n.page || ',' || n.tuple || ')')::tid" \
    " WHERE n.locktype = 'tuple' AND NOT n.granted AND n.relation = '@schema@.slot'::regclass) l" \
    " LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid"

#define LEASES \
    "SELECT key AS place, true AS granted, NULL::integer AS backend, NULL::timestamptz AS waitstart, \"user\" AS usename," \
    " session, session LIKE 'oncedrop %' AS ours, taken_at AS since, NULL::text AS client, false AS hidden" \
    " FROM @schema@.lease WHERE expires_at > pg_catalog.clock_timestamp()"

#define LOCKS(locks) \
    "WITH locks AS (" locks "), held AS (SELECT * FROM locks WHERE granted)," \
    " waiting AS (SELECT place, bool_or(ours) AS ours, jsonb_agg(jsonb_build_object('backend', backend, 'user', usename," \
    " 'session', session, 'seconds', " SECONDS_SINCE("waitstart") ") ORDER BY waitstart) AS list" \
    " FROM locks WHERE NOT granted GROUP BY place)"

#define CLAIMS(place) \
    " claims AS (SELECT m.lock_key AS key, " place \
    " AS place, m.message_id, c.account, c.mailbox, c.state, c.host, c.pid, c.attempt_at" \
    " FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message WHERE c.state = 'appending')"

/* The message of a lock without a claim can be found if the lock is that of a key. Our keys are hashes, which are
 * practically never as small as the numbers that people and programs choose. */
#define MESSAGE_OF_LOCK \
    " LEFT JOIN LATERAL (SELECT id, message_id FROM @schema@.message WHERE c.key IS NULL" \
    " AND identity BETWEEN int8send(h.place) AND int8send(h.place) || decode(repeat('ff', 24), 'hex')" \
    " ORDER BY id DESC LIMIT 1) m ON true"
#define LOOKS_LIKE_OURS "m.id IS NOT NULL OR h.place NOT BETWEEN -4294967296 AND 4294967296"
#define NO_MESSAGE_OF_LOCK " CROSS JOIN (SELECT NULL::text AS message_id) m"
#define IS_OURS "true"

/* $1: how long a delivery may take from its claim to its lock. */
#define ALL(locks, place, message, ours) \
    LOCKS(locks) "," CLAIMS(place) ", all_of_them AS (SELECT coalesce(c.key, h.place) AS key," \
    " coalesce(c.message_id, m.message_id) AS message_id, c.account, c.mailbox, c.state, c.host, c.pid," \
    " " SECONDS_SINCE("coalesce(c.attempt_at, h.since)") " AS age," \
    " CASE WHEN h.place IS NOT NULL THEN 'held' WHEN w.ours OR c.attempt_at >= clock_timestamp()" \
    " - $1::bigint * interval '1 millisecond' THEN 'claimed' ELSE 'free' END AS lock," \
    " h.session, h.ours, h.backend, h.usename AS \"user\", h.client, " SECONDS_SINCE("h.since") " AS held, h.hidden," \
    " coalesce(w.list, '[]') AS waiting" \
    " FROM claims c FULL JOIN held h ON h.place = c.place LEFT JOIN waiting w ON w.place = coalesce(c.place, h.place)" \
    message " WHERE c.key IS NOT NULL OR h.ours OR w.ours OR " ours ")" \
    " SELECT * FROM all_of_them ORDER BY max(age) OVER (PARTITION BY key) DESC NULLS LAST, key, age DESC"

static const char *const queries[LOCK_METHODS] = {
    [LOCK_METHOD_ADVISORY] = ALL(ADVISORY_LOCKS, "m.lock_key", MESSAGE_OF_LOCK, LOOKS_LIKE_OURS),
    [LOCK_METHOD_ROW] = ALL(ROW_LOCKS, "(m.lock_key & 16383)", NO_MESSAGE_OF_LOCK, IS_OURS),
    [LOCK_METHOD_LEASE] = ALL(LEASES, "m.lock_key", MESSAGE_OF_LOCK, IS_OURS),
};

struct ledger_table *ledger_locks(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(ledger, queries[ledger->config->lock.method],
                        PG_PARAMS(PG_NUMBER(ledger_hold_wait_ms(ledger->config))), fault);
}
