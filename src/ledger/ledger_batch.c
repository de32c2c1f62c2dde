/* SPDX-License-Identifier: ISC
 *
 * A batch: find candidates, take their locks, then lock their rows. */
#include "ledger/ledger_batch.h"

#include <string.h>

#define MESSAGES 500

struct candidates {
    int64_t ids[MESSAGES], keys[MESSAGES];
    size_t count;
};

void ledger_batch_clear(struct ledger_batch *batch)
{
    base_free(&batch->ids);
}

/* Opens the transaction and finds candidates, not locked yet. */
static bool find_candidates(struct ledger *ledger, const char *condition, size_t count, const struct pg_param *params,
                            int64_t after, struct candidates *candidates, struct fault *fault)
{
    struct pg_param all[LEDGER_BATCH_PARAMS + 2];
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

bool ledger_batch_lock(struct ledger *ledger, const char *condition, size_t count, const struct pg_param *params,
                       struct ledger_batch *batch, struct fault *fault)
{
    struct candidates candidates;
    char *ids OD_CLEANUP(base_free) = NULL;
    if (!ledger_connect(ledger, fault) || !ledger_set_lock(ledger, 0, fault))
        return false;
    bool done =
        find_candidates(ledger, condition, count, params, batch->after, &candidates, fault) &&
        (candidates.count == 0 || (lock_messages(ledger, &candidates, &ids, fault) && lock_rows(ledger, &ids, fault)));
    if (!done || candidates.count == 0)
        roll_back(ledger);
    if (!done) {
        ledger_add_remedy(ledger->config, LEDGER_OPERATOR, fault);
        return false;
    }
    batch->ended = candidates.count < MESSAGES;
    batch->after = candidates.count > 0 ? candidates.ids[candidates.count - 1] : batch->after;
    batch->ids = ids;
    ids = NULL;
    return true;
}

PGresult *ledger_batch_commit(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
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
