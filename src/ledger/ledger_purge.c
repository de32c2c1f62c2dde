/* SPDX-License-Identifier: ISC
 *
 * Selects what is old; the condition is checked again under the locks of a batch (ledger_batch.h). */
#include "ledger/ledger_purge.h"

#include "ledger/ledger_batch.h"
#include "ledger/ledger_total.h"

/* $1: milliseconds. last_at is checked because replayed messages arrived long ago but may have been recorded today. */
#define OLD \
    "m.received_at < pg_catalog.clock_timestamp() - $1::bigint * interval '1 millisecond'" \
    " AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id AND (d.finished_at IS NULL" \
    " OR d.last_at >= pg_catalog.clock_timestamp() - $1::bigint * interval '1 millisecond'))" \
    " AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending'))"

/* What OLD will select once unfinished messages are abandoned. $2: milliseconds. */
#define OLD_OR_EXPIRED \
    "m.received_at < pg_catalog.clock_timestamp() - $1::bigint * interval '1 millisecond'" \
    " AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id" \
    " AND (d.last_at >= pg_catalog.clock_timestamp() - $1::bigint * interval '1 millisecond'" \
    " OR d.finished_at IS NULL AND d.last_at >= pg_catalog.clock_timestamp() - $2::bigint * interval '1 millisecond'))" \
    " AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')" \
    " AND c.attempt_at >= pg_catalog.clock_timestamp() - $2::bigint * interval '1 millisecond')"

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
