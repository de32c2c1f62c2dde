/* SPDX-License-Identifier: ISC
 *
 * One statement over the ledger's claims and the server's locks and sessions. */
#include "ledger/ledger_locks.h"

#include "ledger/ledger_session.h"

/* message_account_key in SQL. */
#define ACCOUNT_KEY \
    "('x' || pg_catalog.left(encode(pg_catalog.sha256(m.identity || pg_catalog.convert_to(c.account, 'UTF8'))," \
    " 'hex'), 16))::bit(64)::bigint"

#define SECONDS_SINCE(time) "round(extract(epoch FROM clock_timestamp() - " time ")::numeric, 1)"

/* pg_locks shows a bigint key as two halves with objsubid 1. Everybody sees the user and application_name of every
 * session; other columns depend on the user's roles. backend_start, which every session has, is NULL if they are
 * hidden. pg_locks.waitstart was added in PostgreSQL 14. */
#define LOCKS \
    "WITH locks AS (SELECT (l.classid::bigint << 32) | l.objid::bigint AS key, l.granted, l.pid AS backend," \
    " (pg_catalog.to_jsonb(l) ->> 'waitstart')::timestamptz AS waitstart, a.usename," \
    " a.application_name AS session, coalesce(a.application_name LIKE 'oncedrop %', false) AS ours," \
    " coalesce(a.xact_start, a.state_change) AS since, pg_catalog.host(a.client_addr) AS client," \
    " a.backend_start IS NULL AS hidden" \
    " FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid" \
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1" \
    " AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()))," \
    " held AS (SELECT * FROM locks WHERE granted)," \
    " waiting AS (SELECT key, bool_or(ours) AS ours, jsonb_agg(jsonb_build_object('backend', backend, 'user', usename," \
    " 'session', session, 'seconds', " SECONDS_SINCE("waitstart") ") ORDER BY waitstart) AS list" \
    " FROM locks WHERE NOT granted GROUP BY key)"

#define CLAIMS \
    " claims AS (SELECT coalesce((SELECT l.key FROM locks l WHERE l.key = " ACCOUNT_KEY \
    " LIMIT 1), m.lock_key) AS key," \
    " m.message_id, c.account, c.mailbox, c.state, c.host, c.pid, c.attempt_at" \
    " FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message WHERE c.state = 'appending')"

/* Our keys are hashes, which are practically never as small as the numbers that people and programs choose. */
#define LOOKS_LIKE_OURS(key) key " NOT BETWEEN -4294967296 AND 4294967296"

struct ledger_table *ledger_locks(struct ledger *ledger, struct fault *fault)
{
    char wait[24];
    const struct pg_param param = {.data = pg_number(ledger_hold_wait_ms(ledger->config), wait)};
    return ledger_query(
        ledger,
        LOCKS "," CLAIMS ", all_of_them AS (SELECT coalesce(c.key, h.key) AS key, coalesce(c.message_id, m.message_id)"
        " AS message_id, c.account, c.mailbox, c.state, c.host, c.pid,"
        " " SECONDS_SINCE("coalesce(c.attempt_at, h.since)") " AS age,"
        " CASE WHEN h.key IS NOT NULL THEN 'held' WHEN w.ours OR c.attempt_at >= clock_timestamp()"
        " - $1::bigint * interval '1 millisecond' THEN 'claimed' ELSE 'free' END AS lock,"
        " h.session, h.ours, h.backend, h.usename AS \"user\", h.client, " SECONDS_SINCE("h.since") " AS held, h.hidden,"
        " coalesce(w.list, '[]') AS waiting"
        " FROM claims c FULL JOIN held h ON h.key = c.key LEFT JOIN waiting w ON w.key = coalesce(c.key, h.key)"
        " LEFT JOIN LATERAL (SELECT id, message_id FROM @schema@.message WHERE c.key IS NULL"
        " AND identity BETWEEN int8send(h.key) AND int8send(h.key) || decode(repeat('ff', 24), 'hex')"
        " ORDER BY id DESC LIMIT 1) m ON true"
        " WHERE c.key IS NOT NULL OR h.ours OR w.ours OR m.id IS NOT NULL OR " LOOKS_LIKE_OURS("h.key") ")"
        " SELECT * FROM all_of_them ORDER BY max(age) OVER (PARTITION BY key) DESC NULLS LAST, key, age DESC",
        1, &param, fault);
}
