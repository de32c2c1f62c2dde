/* SPDX-License-Identifier: ISC
 *
 * A batch: candidates, their locks, their rows' locks, then what is still old goes. */
#include "ledger/ledger_purge.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_session.h"

#define BATCH 500
/* $1: milliseconds. Replayed messages arrived long ago but may have been recorded today, hence last_at. */
#define OLD \
    "m.received_at < pg_catalog.clock_timestamp() - $1::bigint * interval '1 millisecond'" \
    " AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id AND (d.finished_at IS NULL" \
    " OR d.last_at >= pg_catalog.clock_timestamp() - $1::bigint * interval '1 millisecond'))" \
    " AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending'))"

struct batch {
    int64_t ids[BATCH], keys[BATCH];
    size_t count;
};

bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault)
{
    char age[24];
    const struct pg_param param = {.data = pg_number(older_than_ms, age)};
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_ask(ledger, LEDGER_OPERATOR, "SELECT count(*) FROM @schema@.message m WHERE " OLD, 1, &param, fault);
    if (result != NULL)
        *ret = pg_int(result, 0, 0);
    return result != NULL;
}

/* Opens the transaction and finds candidates, which are not locked yet. */
static bool find_old(struct ledger *ledger, const struct ledger_purge *purge, struct batch *batch, struct fault *fault)
{
    char age[24], after[24], limit[24];
    const struct pg_param params[] = {
        {.data = pg_number(purge->older_than_ms, age)},
        {.data = pg_number(purge->after, after)},
        {.data = pg_number(BATCH, limit)},
    };
    bool sent = ledger_add_begin(ledger, PG_TIMEOUT_MS, fault) &&
                pg_add(ledger->pg,
                       "SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > $2::bigint AND " OLD
                       " ORDER BY m.id LIMIT $3::bigint",
                       3, params, fault) &&
                pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_take(ledger->pg, pg_mark(ledger->pg) - 1, fault) : NULL;
    batch->count = result != NULL ? (size_t)PQntuples(result) : 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->ids[i] = pg_int(result, (int)i, 0);
        batch->keys[i] = pg_int(result, (int)i, 1);
    }
    pg_finish(ledger->pg);
    return result != NULL;
}

/* Tries each candidate's lock; *ret is an array literal of the ids that are ours now. */
static bool lock_messages(struct ledger *ledger, const struct batch *batch, char **ret, struct fault *fault)
{
    char numbers[BATCH][24];
    const char *ours[BATCH];
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < batch->count; i++)
        if (!lock_add_acquire(ledger->pg, ledger->config->lock.method, batch->keys[i], fault))
            return false;
    if (!pg_send(ledger->pg, fault))
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        PGresult *result OD_CLEANUP(pg_clear) = pg_take(ledger->pg, i, fault);
        if (result != NULL && lock_granted(result))
            ours[count++] = pg_number(batch->ids[i], numbers[i]);
        good = good && result != NULL;
    }
    pg_finish(ledger->pg);
    if (good)
        *ret = pg_text_array(ours, count);
    return good;
}

/* Some deliveries lock another key (message_account_key): their rows refer to the message, which keeps it from this. *ids
 * becomes what is ours of them. */
static bool lock_rows(struct ledger *ledger, char **ids, struct fault *fault)
{
    char numbers[BATCH][24];
    const char *ours[BATCH];
    size_t count;
    const struct pg_param param = pg_array(*ids);
    bool sent = pg_add(ledger->pg,
                       "SELECT id FROM @schema@.message WHERE id = ANY ($1::bigint[]) FOR UPDATE SKIP LOCKED", 1,
                       &param, fault) &&
                pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_take(ledger->pg, 0, fault) : NULL;
    for (count = 0; result != NULL && count < (size_t)PQntuples(result); count++)
        ours[count] = pg_number(pg_int(result, (int)count, 0), numbers[count]);
    pg_finish(ledger->pg);
    if (result == NULL)
        return false;
    base_free(ids);
    *ids = pg_text_array(ours, count);
    return true;
}

/* Deletes what is still old and finished, now that nobody else can be at it. */
static bool delete_old(struct ledger *ledger, const struct ledger_purge *purge, const char *ids, int64_t *ret_deleted,
                       struct fault *fault)
{
    char age[24];
    const struct pg_param params[] = {{.data = pg_number(purge->older_than_ms, age)}, pg_array(ids)};
    bool sent = pg_add(ledger->pg, "DELETE FROM @schema@.message m WHERE m.id = ANY ($2::bigint[]) AND " OLD, 2, params,
                       fault) &&
                pg_add(ledger->pg, "COMMIT", 0, NULL, fault) && pg_send(ledger->pg, fault);
    PGresult *result OD_CLEANUP(pg_clear) = sent ? pg_take(ledger->pg, 0, fault) : NULL;
    bool committed = result != NULL && pg_committed(ledger->pg, 1, fault);
    if (committed)
        *ret_deleted = strtoll(PQcmdTuples(result), NULL, 10);
    pg_finish(ledger->pg);
    return committed;
}

bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault)
{
    struct batch batch;
    int64_t deleted = 0;
    char *ids OD_CLEANUP(base_free) = NULL;
    if (!ledger_connect(ledger, fault))
        return false;
    bool found = find_old(ledger, purge, &batch, fault);
    bool done = found &&
                (batch.count == 0 || (lock_messages(ledger, &batch, &ids, fault) && lock_rows(ledger, &ids, fault) &&
                                      delete_old(ledger, purge, ids, &deleted, fault)));
    if (!done || batch.count == 0)
        ledger_rollback(ledger);
    if (!done) {
        ledger_add_remedy(ledger, LEDGER_OPERATOR, fault);
        return false;
    }
    purge->ended = batch.count < BATCH;
    purge->after = batch.count > 0 ? batch.ids[batch.count - 1] : purge->after;
    purge->deleted += deleted;
    return true;
}
