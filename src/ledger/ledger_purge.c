/* SPDX-License-Identifier: ISC
 *
 * Batches: each is a short transaction that finds messages by a condition, takes their locks, so that none of them is being
 * delivered meanwhile, locks their rows, and checks the condition again. A batch never waits for a lock. */
#include "ledger/ledger_purge.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_lock.h"
#include "ledger/ledger_total.h"

#define MESSAGES 500 /* of a batch */
#define PARAMETERS 3 /* at most, of a condition */

struct candidates {
    int64_t ids[MESSAGES], keys[MESSAGES];
    size_t count;
};

/* Opens the transaction and finds candidates, not locked yet. */
static bool find_candidates(struct ledger *ledger, const char *condition, size_t count, const struct pg_param *params,
                            int64_t after, struct candidates *candidates, struct fault *fault)
{
    struct pg_param all[PARAMETERS + 2];
    char *sql OD_CLEANUP(base_free) = base_printf(
        "SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > $%zu::bigint AND %s"
        " ORDER BY m.id LIMIT $%zu::bigint",
        count + 1, condition, count + 2);
    memcpy(all, params, count * sizeof(*params));
    all[count] = PG_NUMBER(after);
    all[count + 1] = PG_NUMBER(MESSAGES);
    ledger_add_begin(ledger, PG_TIMEOUT_MS);
    size_t mark = pg_mark(ledger->pg);
    pg_add(ledger->pg, "SELECT lock_method FROM @schema@.agreed", 0, NULL);
    pg_add(ledger->pg, sql, count + 2, all);
    ledger_add_end(ledger);
    PGresult *agreed OD_CLEANUP(pg_clear) = pg_send(ledger->pg, fault) ? pg_take(ledger->pg, mark, fault) : NULL;
    PGresult *result OD_CLEANUP(pg_clear) = agreed != NULL ? pg_take(ledger->pg, mark + 1, fault) : NULL;
    if (result != NULL && !ledger_agrees(ledger, PQntuples(agreed) == 1 ? PQgetvalue(agreed, 0, 0) : NULL, fault))
        pg_clear(&result);
    candidates->count = result != NULL ? (size_t)PQntuples(result) : 0;
    for (size_t i = 0; i < candidates->count; i++) {
        candidates->ids[i] = pg_int(result, (int)i, 0);
        candidates->keys[i] = pg_int(result, (int)i, 1);
    }
    pg_finish(ledger->pg);
    return result != NULL;
}

static void roll_back(struct ledger *ledger)
{
    struct fault ignored;
    ledger_rollback(ledger);
    if (!ledger_leases(ledger) || ledger->pg == NULL || !pg_usable(ledger->pg))
        return;
    ledger_add_begin_idle(ledger);
    ledger_add_release_all(ledger);
    pg_add(ledger->pg, "COMMIT", 0, NULL);
    if (pg_send(ledger->pg, &ignored))
        ledger_finish(ledger);
}

/* Tries each candidate's lock; *ret becomes an array literal of the ids whose lock we got. */
static bool lock_messages(struct ledger *ledger, const struct candidates *candidates, char **ret, struct fault *fault)
{
    char numbers[MESSAGES][24];
    const char *ours[MESSAGES];
    size_t count = 0;
    bool good = true;
    ledger_add_begin_under(ledger);
    size_t mark = pg_mark(ledger->pg);
    for (size_t i = 0; i < candidates->count; i++)
        ledger_add_acquire(ledger, candidates->keys[i]);
    ledger_add_end(ledger);
    if (!pg_send(ledger->pg, fault))
        return false;
    for (size_t i = 0; i < candidates->count; i++) {
        PGresult *result OD_CLEANUP(pg_clear) = pg_take(ledger->pg, mark + i, fault);
        if (result != NULL && lock_granted(result))
            ours[count++] = pg_number(candidates->ids[i], numbers[i]);
        good = good && result != NULL;
    }
    pg_finish(ledger->pg);
    if (good)
        *ret = pg_text_array(ours, count);
    return good;
}

/* A claim may be about to be committed without the message's lock, since its lease has run out meanwhile. What it writes
 * refers to the message's row and so locks it: we lock that row too. Removes from *ids what we did not get. */
static bool lock_rows(struct ledger *ledger, char **ids, struct fault *fault)
{
    char numbers[MESSAGES][24];
    const char *ours[MESSAGES];
    size_t count;
    ledger_add_begin_under(ledger);
    size_t mark = pg_mark(ledger->pg);
    pg_add(ledger->pg, "SELECT id FROM @schema@.message WHERE id = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED",
           PG_PARAMS(PG_ARRAY(*ids)));
    PGresult *result OD_CLEANUP(pg_clear) = pg_send(ledger->pg, fault) ? pg_take(ledger->pg, mark, fault) : NULL;
    for (count = 0; result != NULL && count < (size_t)PQntuples(result); count++)
        ours[count] = pg_number(pg_int(result, (int)count, 0), numbers[count]);
    pg_finish(ledger->pg);
    if (result == NULL)
        return false;
    base_free(ids);
    *ids = pg_text_array(ours, count);
    return true;
}

/* Opens the transaction and locks the next messages that meet the condition, except those that a delivery holds. The
 * caller must check the condition again once they are locked: it may have changed meanwhile. condition: SQL about a message
 * m, with parameters from $1 on.
 *
 * *after      id of the last message examined, 0 at first; advanced
 * *ret_ended  there are no more
 * *ret_ids    array literal of the locked messages; untouched if there are none, and no transaction is open
 *
 * False with the fault set: no transaction is open. */
static bool lock_batch(struct ledger *ledger, const char *condition, size_t count, const struct pg_param *params,
                       int64_t *after, bool *ret_ended, char **ret_ids, struct fault *fault)
{
    struct candidates candidates;
    char *ids OD_CLEANUP(base_free) = NULL;
    if (!ledger_connect(ledger, fault) || !ledger_set_lock(ledger, 0, fault))
        return false;
    bool done =
        find_candidates(ledger, condition, count, params, *after, &candidates, fault) &&
        (candidates.count == 0 || (lock_messages(ledger, &candidates, &ids, fault) && lock_rows(ledger, &ids, fault)));
    if (!done || candidates.count == 0)
        roll_back(ledger);
    if (!done) {
        ledger_add_remedy(ledger->config, LEDGER_OPERATOR, fault);
        return false;
    }
    *ret_ended = candidates.count < MESSAGES;
    *after = candidates.count > 0 ? candidates.ids[candidates.count - 1] : *after;
    *ret_ids = g_steal_pointer(&ids);
    return true;
}

/* Runs the statement and commits. NULL with the fault set: nothing was committed. */
static PGresult *commit_batch(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                              struct fault *fault)
{
    size_t mark = pg_mark(ledger->pg);
    pg_add(ledger->pg, sql, count, params);
    ledger_add_release_all(ledger);
    size_t commit = pg_mark(ledger->pg);
    pg_add(ledger->pg, "COMMIT", 0, NULL);
    PGresult *result = pg_send(ledger->pg, fault) ? pg_take(ledger->pg, mark, fault) : NULL;
    if (result != NULL && !pg_committed(ledger->pg, commit, fault))
        pg_clear(&result);
    pg_finish(ledger->pg);
    if (result != NULL)
        return result;
    roll_back(ledger);
    ledger_add_remedy(ledger->config, LEDGER_OPERATOR, fault);
    return NULL;
}

/* Of messages m that are to be abandoned. $1: minimum milliseconds since the last try; $2: since an APPEND that may still be
 * in progress; $3: the last message. */
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
    struct ledger_expire next = *expire;
    char *ids OD_CLEANUP(base_free) = NULL;
    if (!lock_batch(ledger, EXPIRED, PG_PARAMS(EXPIRED_PARAMS(ledger, expire)), &next.after, &next.ended, &ids, fault))
        return NULL;
    PGresult *result OD_CLEANUP(pg_clear) = NULL;
    if (ids != NULL) {
        pg_receive_any(ledger->pg);
        result = commit_batch(
            ledger,
            "WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id = ANY ($4::bigint[])"
            " AND " EXPIRED
            "), open AS (UPDATE @schema@.delivery d SET outcome = 'abandoned',"
            " finished_at = pg_catalog.clock_timestamp() FROM due WHERE due.id = d.message AND d.finished_at IS NULL"
            " RETURNING d.*), copies AS (UPDATE @schema@.copy c SET state = 'abandoned',"
            " doubt = c.doubt OR c.state = 'appending' FROM due WHERE due.id = c.message"
            " AND c.state IN ('pending', 'appending'))" REPORT,
            PG_PARAMS(EXPIRED_PARAMS(ledger, expire), PG_ARRAY(ids)), fault);
        if (result == NULL)
            return NULL;
    }
    *expire = next;
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

/* Of deliveries that died, of messages that nobody has delivered since. */
static bool delete_leases(struct ledger *ledger, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_change(ledger, LEDGER_OPERATOR,
                      "DELETE FROM @schema@.lease WHERE expires_at < pg_catalog.clock_timestamp() - interval '1 day'",
                      0, NULL, fault);
    return result != NULL;
}

/* What is deleted is subtracted from what was counted. The copies are still there for this statement: they go at its end, by
 * their foreign key. */
bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault)
{
    struct ledger_purge next = *purge;
    char *ids OD_CLEANUP(base_free) = NULL;
    if ((purge->after == 0 && !delete_leases(ledger, fault)) ||
        !lock_batch(ledger, OLD, PG_PARAMS(PG_NUMBER(purge->older_than_ms)), &next.after, &next.ended, &ids, fault))
        return false;
    if (ids != NULL) {
        pg_add(ledger->pg, LEDGER_TALLY_LOCK, 0, NULL);
        PGresult *result OD_CLEANUP(pg_clear) = commit_batch(
            ledger,
            "WITH gone AS (DELETE FROM @schema@.message m WHERE m.id = ANY ($2::bigint[]) AND " OLD
            " RETURNING m.id, m.size), less AS (UPDATE @schema@.tally t SET messages = t.messages - m.messages,"
            " bytes = t.bytes - m.bytes, copies = t.copies - c.copies FROM @schema@.tally k,"
            " LATERAL (SELECT count(*) AS messages, coalesce(sum(g.size), 0) AS bytes FROM gone g"
            " WHERE g.id <= k.last_message) m,"
            " LATERAL (SELECT count(*) AS copies FROM gone g JOIN @schema@.copy o ON o.message = g.id"
            " WHERE o.id <= k.last_copy) c)"
            " SELECT count(*) FROM gone",
            PG_PARAMS(PG_NUMBER(purge->older_than_ms), PG_ARRAY(ids)), fault);
        if (result == NULL)
            return false;
        next.deleted += pg_int(result, 0, 0);
    }
    *purge = next;
    return true;
}
