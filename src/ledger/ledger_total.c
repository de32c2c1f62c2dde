/* SPDX-License-Identifier: ISC
 *
 * Recent tries are counted from their rows; older ones were added up before. `until` is the moment that separates the
 * two. */
#include "ledger/ledger_total.h"

#include "ledger/ledger_lock.h"

#define LONGEST_MS (60 * 60 * INT64_C(1000)) /* adding up years of tries may take that long */

/* Upper bounds of the histogram buckets, in milliseconds. */
#define BOUNDS "'{5,10,25,50,100,250,500,1000,2500,5000,10000,30000,60000,300000,1800000,7200000}'::bigint[]"
#define BUCKET(ms) "pg_catalog.width_bucket(" ms "::bigint - 1, " BOUNDS ")"

#define UNTIL \
    "coalesce((SELECT pg_catalog.to_timestamp(value / 1000000.0) FROM @schema@.total WHERE name = 'counted_until')," \
    " '-infinity')"

/* Tries t of deliveries d, as they are counted. If an outcome can mean both deferral and bounce, it counts as a bounce
 * in the try that finished the delivery. */
#define TRIES \
    "SELECT t.outcome, CASE WHEN t.outcome = 'claimed' THEN 'died'" \
    " WHEN t.outcome IN ('stored', 'quarantined', 'duplicate') THEN t.outcome WHEN t.outcome = 'too-large'" \
    " OR t.outcome IN ('overquota', 'unknown', 'refused') AND t.ended_at >= d.finished_at THEN 'bounced'" \
    " ELSE 'deferred' END AS status, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms, CASE WHEN t.outcome IN ('stored', 'quarantined')" \
    " AND t.queued_at IS NOT NULL THEN greatest((extract(epoch FROM t.ended_at - t.queued_at) * 1000)::bigint, 0) END" \
    " AS delay_ms" \
    " FROM @schema@.try t JOIN @schema@.delivery d ON d.id = t.delivery"

/* A try that cannot change any more: its process has settled everything that it claimed, or has certainly died. */
#define IS_OVER \
    "(t.outcome <> 'claimed' AND t.claim NOT IN (SELECT claim FROM @schema@.copy WHERE state = 'appending')" \
    " OR t.outcome = 'claimed' AND t.started_at < pg_catalog.clock_timestamp() - interval '1 hour')"

/* Each try is read once and aggregated into a few groups. */
#define GROUPS \
    "groups AS (SELECT outcome, status, " BUCKET("read_ms") " AS read, " BUCKET("lock_ms") " AS lock," \
    " " BUCKET("database_ms") " AS database, " BUCKET("imap_ms") " AS imap, " BUCKET("delay_ms") " AS delay," \
    " count(*) AS count, sum(read_ms) AS read_ms, sum(lock_ms) AS lock_ms, sum(database_ms) AS database_ms," \
    " sum(imap_ms) AS imap_ms, sum(delay_ms) AS delay_ms FROM tries GROUP BY 1, 2, 3, 4, 5, 6, 7)"

#define OF_PHASES \
    "groups g, LATERAL (VALUES ('phase', 'read', g.read, g.read_ms), ('phase', 'lock', g.lock, g.lock_ms)," \
    " ('phase', 'database', g.database, g.database_ms), ('phase', 'imap', g.imap, g.imap_ms)," \
    " ('delay', '', g.delay, g.delay_ms)) AS p(name, label, bucket, ms)" \
    " WHERE g.status <> 'died' AND p.bucket IS NOT NULL GROUP BY 1, 2, 3"

#define COUNTS \
    "SELECT 'deliveries' AS name, status AS label, 0::bigint AS le, sum(count) AS value FROM groups GROUP BY status" \
    " UNION ALL SELECT 'deferrals', outcome, 0, sum(count) FROM groups WHERE status = 'deferred' GROUP BY outcome" \
    " UNION ALL SELECT p.name, p.label, coalesce((" BOUNDS ")[p.bucket + 1], 0), sum(g.count) FROM " OF_PHASES \
    " UNION ALL SELECT p.name || '_ms', p.label, 0, sum(p.ms) FROM " OF_PHASES

#define EVENTS(of) \
    " UNION ALL SELECT k.name, k.label, 0, sum(e.count) FROM " of \
    " e JOIN (VALUES ('held', 'deliveries', 'deferred')," \
    " ('held', 'deferrals', 'held'), ('search', 'searches', '')) AS k(event, name, label) ON k.event = e.name GROUP BY 1, 2"

#define ZEROS \
    " UNION ALL VALUES ('deliveries', 'stored', 0, 0), ('deliveries', 'quarantined', 0, 0), ('deliveries', 'duplicate', 0, 0), ('deliveries', 'deferred', 0, 0)," \
    " ('deliveries', 'bounced', 0, 0), ('deliveries', 'died', 0, 0), ('deferrals', 'held', 0, 0)," \
    " ('deferrals', 'database', 0, 0), ('deferrals', 'mailbox', 0, 0), ('deferrals', 'overquota', 0, 0)," \
    " ('deferrals', 'refused', 0, 0), ('deferrals', 'trouble', 0, 0), ('searches', '', 0, 0)" \
    " UNION ALL SELECT k.name || s.suffix, k.label, s.le, 0 FROM (VALUES ('phase', 'read'), ('phase', 'lock')," \
    " ('phase', 'database'), ('phase', 'imap'), ('delay', '')) AS k(name, label)," \
    " (SELECT '' AS suffix, unnest(" BOUNDS " || 0::bigint) AS le UNION ALL SELECT '_ms', 0) AS s"

struct ledger_table *ledger_totals_ever(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(ledger,
                        "WITH tries AS (" TRIES " WHERE t.started_at >= " UNTIL " AND " IS_OVER "), " GROUPS
                        " SELECT name, label, le, sum(value)::bigint AS value FROM (" COUNTS EVENTS("@schema@.event")
                            ZEROS
                        " UNION ALL SELECT name, label, le, value FROM @schema@.total WHERE name <> 'counted_until'"
                        ") AS counts GROUP BY name, label, le ORDER BY name, label, le = 0, le",
                        0, NULL, fault);
}

/* Locks a row, so that only one process at a time adds up, and another one, so that nothing is deleted meanwhile. */
static void add_locks(struct ledger *ledger)
{
    pg_add(ledger->pg,
           "INSERT INTO @schema@.total AS t (name, label, le, value) VALUES ('counted_until', '', 0, 0)"
           " ON CONFLICT (name, label, le) DO UPDATE SET value = t.value",
           0, NULL);
    pg_add(ledger->pg, LEDGER_TALLY_LOCK, 0, NULL);
}

/* No transaction lasts an hour: what got a number before a row that is older is there, or will never be. */
static void add_tally(struct ledger *ledger)
{
    pg_add(ledger->pg,
           "WITH old AS MATERIALIZED (SELECT t.last_message, t.last_copy, coalesce((SELECT id FROM @schema@.copy"
           " WHERE id > t.last_copy AND first_at < pg_catalog.clock_timestamp() - interval '1 hour'"
           " ORDER BY id DESC LIMIT 1), t.last_copy) AS copy FROM @schema@.tally t),"
           " span AS MATERIALIZED (SELECT o.*, greatest(o.last_message, (SELECT max(message) FROM @schema@.copy"
           " WHERE id > o.copy - 1000 AND id <= o.copy)) AS message FROM old o)"
           " UPDATE @schema@.tally t SET last_message = s.message, messages = t.messages + m.messages,"
           " bytes = t.bytes + m.bytes, last_copy = s.copy, copies = t.copies + c.copies FROM span s,"
           " LATERAL (SELECT count(*) AS messages, coalesce(sum(size), 0) AS bytes FROM @schema@.message"
           " WHERE id > s.last_message AND id <= s.message) m,"
           " LATERAL (SELECT count(*) AS copies FROM @schema@.copy WHERE id > s.last_copy AND id <= s.copy) c",
           0, NULL);
}

bool ledger_total_is_due(struct ledger *ledger, bool *ret, struct fault *fault)
{
    struct ledger_table *due OD_CLEANUP(ledger_table_free) = ledger_query(
        ledger,
        "SELECT 1 FROM @schema@.tally t WHERE (SELECT max(id) FROM @schema@.message) > t.last_message + 20000"
        " AND " UNTIL " < pg_catalog.clock_timestamp() - interval '2 hours'",
        0, NULL, fault);
    if (due != NULL)
        *ret = due->rows > 0;
    return due != NULL;
}

bool ledger_total_up(struct ledger *ledger, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    pg_set_timeout(ledger->pg, PG_TIMEOUT_MS + LONGEST_MS);
    ledger_add_begin(ledger, LONGEST_MS);
    add_locks(ledger);
    add_tally(ledger);
    pg_add(ledger->pg,
               "WITH span AS MATERIALIZED (SELECT " UNTIL " AS since,"
               " greatest(date_trunc('second', pg_catalog.clock_timestamp() - interval '1 hour'), " UNTIL ") AS until),"
               " tries AS (" TRIES " WHERE t.started_at >= (SELECT since FROM span)"
               " AND t.started_at < (SELECT until FROM span)), " GROUPS ","
               " old AS (DELETE FROM @schema@.event WHERE at < (SELECT until FROM span) RETURNING name, count),"
               " moved AS (UPDATE @schema@.total SET value = (SELECT extract(epoch FROM until) * 1000000 FROM span)"
               " WHERE name = 'counted_until')"
               " INSERT INTO @schema@.total AS t (name, label, le, value) SELECT name, label, le, sum(value) FROM ("
               COUNTS EVENTS("old") ") AS counts GROUP BY name, label, le"
               " ON CONFLICT (name, label, le) DO UPDATE SET value = t.value + EXCLUDED.value",
               0, NULL);
    pg_add(ledger->pg, "COMMIT", 0, NULL);
    bool committed = pg_send(ledger->pg, fault) && pg_committed(ledger->pg, pg_mark(ledger->pg) - 1, fault);
    pg_finish(ledger->pg);
    if (committed)
        return true;
    ledger_rollback(ledger);
    ledger_add_remedy(ledger->config, LEDGER_OPERATOR, fault);
    return false;
}
