/* SPDX-License-Identifier: ISC
 *
 * Messages are selected by the same condition before the locks of a batch are taken (ledger_batch.h) and again afterwards. */
#include "ledger/ledger_purge.h"

#include "ledger/ledger_batch.h"
#include "ledger/ledger_total.h"

/* Of messages m that are to be abandoned. $1: minimum milliseconds since the last try; $2: since an APPEND that may still be in progress; $3: the last
 * message. */
#define EXPIRED \
    "m.id <= $3::bigint AND m.id IN (SELECT message FROM @schema@.delivery WHERE finished_at IS NULL" \
    " UNION SELECT message FROM @schema@.copy WHERE state IN ('pending', 'appending'))" \
    " AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL" \
    " AND d.last_at >= " LEDGER_AGO("$1") ")" \
    " AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')" \
    " AND c.attempt_at >= " LEDGER_AGO("(CASE c.state WHEN 'appending' THEN $2 ELSE $1 END)") ")"
#define EXPIRED_PARAMS(ledger, expire) \
    PG_NUMBER((expire)->older_than_ms), PG_NUMBER(appending_ms(ledger, expire)), PG_NUMBER((expire)->upto)

static int64_t appending_ms(const struct ledger *ledger, const struct ledger_expire *expire)
{
    int64_t hold_off = ledger->config->delivery.hold_off;
    return expire->older_than_ms > hold_off ? expire->older_than_ms : hold_off;
}

/* Requires `open`: the unfinished deliveries of these messages. */
#define REPORT \
    " SELECT coalesce(max(" LEDGER_TIME("o.last_at") "), max((SELECT " LEDGER_TIME("max(c.attempt_at)") \
    " FROM @schema@.copy c WHERE c.message = m.id))) AS last_at," \
    " string_agg(DISTINCT o.queue_id, ', ') AS queue_id, string_agg(o.recipient, ', ' ORDER BY o.id) AS recipients," \
    " m.message_id, string_agg(DISTINCT o.reason, '; ') AS reason" \
    " FROM due m LEFT JOIN open o ON o.message = m.id GROUP BY m.id, m.message_id ORDER BY m.id"

struct ledger_table *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                           struct fault *fault)
{
    return ledger_query(ledger,
                        "WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id > $4::bigint"
                        " AND " EXPIRED
                        "), open AS (SELECT d.* FROM @schema@.delivery d JOIN due ON due.id = d.message"
                        " WHERE d.finished_at IS NULL)" REPORT,
                        PG_PARAMS(EXPIRED_PARAMS(ledger, expire), PG_NUMBER(expire->after)), fault);
}

bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_ask(ledger, LEDGER_OPERATOR,
                   "SELECT EXISTS (SELECT FROM @schema@.delivery WHERE message = $1::bigint AND finished_at IS NULL)"
                   " OR EXISTS (SELECT FROM @schema@.copy WHERE message = $1::bigint"
                   " AND state IN ('pending', 'appending'))",
                   PG_PARAMS(PG_NUMBER(message)), fault);
    if (result != NULL)
        *ret = pg_bool(result, 0, 0);
    return result != NULL;
}

struct ledger_table *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire, struct fault *fault)
{
    struct ledger_batch batch OD_CLEANUP(ledger_batch_clear) = {.after = expire->after};
    if (!ledger_batch_lock(ledger, EXPIRED, PG_PARAMS(EXPIRED_PARAMS(ledger, expire)), &batch, fault))
        return NULL;
    PGresult *result OD_CLEANUP(pg_clear) = NULL;
    if (batch.ids != NULL) {
        pg_receive_any(ledger->pg);
        result = ledger_batch_commit(
            ledger,
            "WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id = ANY ($4::bigint[])"
            " AND " EXPIRED
            "), open AS (UPDATE @schema@.delivery d SET outcome = 'abandoned',"
            " finished_at = pg_catalog.clock_timestamp() FROM due WHERE due.id = d.message AND d.finished_at IS NULL"
            " RETURNING d.*), copies AS (UPDATE @schema@.copy c SET state = 'abandoned',"
            " doubt = c.doubt OR c.state = 'appending' FROM due WHERE due.id = c.message"
            " AND c.state IN ('pending', 'appending'))" REPORT,
            PG_PARAMS(EXPIRED_PARAMS(ledger, expire), PG_ARRAY(batch.ids)), fault);
        if (result == NULL)
            return NULL;
    }
    expire->after = batch.after;
    expire->ended = batch.ended;
    return ledger_table_of(result);
}

/* Of messages m that arrived long enough ago, and have nothing unfinished that is as young as this says. $1: milliseconds.
 * last_at is checked because replayed messages arrived long ago but may have been recorded today. */
#define OLD_WITHOUT(and_last_at, and_attempt_at) \
    "m.received_at < " LEDGER_AGO("$1") " AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id AND (d.last_at >= " LEDGER_AGO( \
        "$1") " OR d.finished_at IS NULL" and_last_at \
              "))" \
              " AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')" and_attempt_at \
              ")"
#define OLD OLD_WITHOUT("", "")

/* What OLD will select once unfinished messages are abandoned. $2: milliseconds. */
#define OLD_OR_EXPIRED OLD_WITHOUT(" AND d.last_at >= " LEDGER_AGO("$2"), " AND c.attempt_at >= " LEDGER_AGO("$2"))

bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_ask(ledger, LEDGER_OPERATOR, "SELECT count(*) FROM @schema@.message m WHERE " OLD_OR_EXPIRED,
                   PG_PARAMS(PG_NUMBER(older_than_ms), PG_NUMBER(ledger->config->record.abandon_after)), fault);
    if (result != NULL)
        *ret = pg_int(result, 0, 0);
    return result != NULL;
}

/* Deletes, and subtracts from what was counted. The copies are still there for this statement: they go at its end, by
 * their foreign key. Returns how many messages these were. */
static PGresult *delete_batch(struct ledger *ledger, int64_t older_than_ms, const char *ids, struct fault *fault)
{
    pg_add(ledger->pg, LEDGER_TALLY_LOCK, 0, NULL);
    return ledger_batch_commit(
        ledger,
        "WITH gone AS (DELETE FROM @schema@.message m WHERE m.id = ANY ($2::bigint[]) AND " OLD
        " RETURNING m.id, m.size), less AS (UPDATE @schema@.tally t SET messages = t.messages - m.messages,"
        " bytes = t.bytes - m.bytes, copies = t.copies - c.copies FROM @schema@.tally k,"
        " LATERAL (SELECT count(*) AS messages, coalesce(sum(g.size), 0) AS bytes FROM gone g"
        " WHERE g.id <= k.last_message) m,"
        " LATERAL (SELECT count(*) AS copies FROM gone g JOIN @schema@.copy o ON o.message = g.id"
        " WHERE o.id <= k.last_copy) c)"
        " SELECT count(*) FROM gone",
        PG_PARAMS(PG_NUMBER(older_than_ms), PG_ARRAY(ids)), fault);
}

/* Of deliveries that died, of messages that nobody has delivered since. */
static bool delete_leases(struct ledger *ledger, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_change(ledger, LEDGER_OPERATOR,
                      "DELETE FROM @schema@.lease WHERE expires_at < pg_catalog.clock_timestamp() - interval '1 day'",
                      0, NULL, fault);
    return result != NULL;
}

bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault)
{
    struct ledger_batch batch OD_CLEANUP(ledger_batch_clear) = {.after = purge->after};
    if ((purge->after == 0 && !delete_leases(ledger, fault)) ||
        !ledger_batch_lock(ledger, OLD, PG_PARAMS(PG_NUMBER(purge->older_than_ms)), &batch, fault))
        return false;
    if (batch.ids != NULL) {
        PGresult *result OD_CLEANUP(pg_clear) = delete_batch(ledger, purge->older_than_ms, batch.ids, fault);
        if (result == NULL)
            return false;
        purge->deleted += pg_int(result, 0, 0);
    }
    purge->ended = batch.ended;
    purge->after = batch.after;
    return true;
}
