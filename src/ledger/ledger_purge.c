/* SPDX-License-Identifier: ISC
 *
 * Batches: each finds messages by a condition, which may take long, and only reads; then a short transaction takes their
 * locks, so that none of them is being delivered meanwhile, locks their rows, and checks the condition again. A batch never
 * waits for a lock. */
#include "ledger/ledger_purge.h"

#include <glib.h>

#include "ledger/ledger_lock.h"

#define MESSAGES 500 /* of a batch */

struct candidates {
    int64_t ids[MESSAGES], keys[MESSAGES];
    size_t count;
};

/* Messages that are locked. */
struct batch {
    bool open; /* the transaction that has locked them; there may be none of them */
    int64_t ids[MESSAGES];
    size_t count;
};

/* Finds candidates, not locked yet, by find_expired or find_old, which give the same columns. */
static bool find_candidates(struct ledger *ledger, enum sql_step find, const struct sql_value *values,
                            struct candidates *candidates, struct fault *fault)
{
    ledger_add_begin_look(ledger, SQL_TIMEOUT_MS);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(read_agreed));
    sql_add(ledger->sql, find, values);
    sql_add(ledger->sql, SQL_STEP(commit));
    struct sql_rows *agreed OD_CLEANUP(sql_rows_free) =
        sql_send(ledger->sql, fault) ? sql_take(ledger->sql, mark, fault) : NULL;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = agreed != NULL ? sql_take(ledger->sql, mark + 1, fault) : NULL;
    if (rows != NULL &&
        !ledger_agrees(ledger, agreed->count == 1 ? sql_text(agreed, 0, READ_AGREED_LOCK_METHOD) : NULL, fault))
        sql_rows_free(&rows);
    candidates->count = rows != NULL ? MIN(rows->count, MESSAGES) : 0;
    for (size_t i = 0; i < candidates->count; i++) {
        candidates->ids[i] = sql_number(rows, i, FIND_OLD_ID);
        candidates->keys[i] = sql_number(rows, i, FIND_OLD_LOCK_KEY);
    }
    sql_finish(ledger->sql);
    return rows != NULL;
}

static void roll_back(struct ledger *ledger)
{
    struct fault ignored;
    ledger_rollback(ledger);
    if (!ledger_leases(ledger) || !sql_usable(ledger->sql))
        return;
    ledger_add_begin_idle(ledger);
    ledger_add_release_all(ledger);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (sql_send(ledger->sql, &ignored))
        ledger_finish(ledger);
}

/* Opens the transaction and tries each candidate's lock; *ret becomes those whose lock we got. */
static bool lock_messages(struct ledger *ledger, const struct candidates *candidates, struct batch *ret,
                          struct fault *fault)
{
    bool good = true;
    ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    size_t mark = sql_mark(ledger->sql);
    for (size_t i = 0; i < candidates->count; i++)
        ledger_add_acquire(ledger, candidates->keys[i], 0);
    size_t end = sql_mark(ledger->sql);
    ledger_add_end(ledger);
    if (!sql_send(ledger->sql, fault))
        return false;
    for (size_t i = 0; i < candidates->count; i++) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_take(ledger->sql, mark + i, fault);
        if (rows != NULL && lock_granted(rows))
            ret->ids[ret->count++] = candidates->ids[i];
        good = good && rows != NULL;
    }
    good = good && ledger_ended(ledger, end, fault);
    sql_finish(ledger->sql);
    return good;
}

/* A claim may be about to be committed without the message's lock, since its lease has run out meanwhile. What it writes
 * refers to the message's row and so locks it: we lock that row too. Removes from the batch what we did not get. */
static bool lock_rows(struct ledger *ledger, struct batch *batch, struct fault *fault)
{
    ledger_add_begin_under(ledger);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(lock_messages, .ids = SQL_NUMBERS(batch->ids, batch->count)));
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_send(ledger->sql, fault) ? sql_take(ledger->sql, mark, fault)
                                                                                   : NULL;
    batch->count = rows != NULL ? MIN(rows->count, MESSAGES) : 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->ids[i] = sql_number(rows, i, LOCK_MESSAGES_ID);
    sql_finish(ledger->sql);
    return rows != NULL;
}

/* Locks the next messages that the step finds, in a transaction that stays open, except those that a delivery holds. The caller
 * must check its condition again once they are locked: it may have changed meanwhile.
 *
 * find, values  find_expired or find_old, for MESSAGES of them after *after
 * *after        id of the last message examined; advanced
 * *ret_ended    there are no more
 * *ret          the locked messages; not open if none was found
 *
 * False with the fault set: no transaction is open. */
static bool lock_batch(struct ledger *ledger, enum sql_step find, const struct sql_value *values, int64_t *after,
                       bool *ret_ended, struct batch *ret, struct fault *fault)
{
    struct candidates candidates;
    ret->open = false;
    ret->count = 0;
    if (!ledger_connect(ledger, fault) || !ledger_set_lock(ledger, 0, fault))
        return false;
    bool done =
        find_candidates(ledger, find, values, &candidates, fault) &&
        (candidates.count == 0 || (lock_messages(ledger, &candidates, ret, fault) && lock_rows(ledger, ret, fault)));
    if (!done || candidates.count == 0)
        roll_back(ledger);
    if (!done) {
        ledger_add_remedy(ledger, SQL_OPERATOR, fault);
        return false;
    }
    ret->open = candidates.count > 0;
    *ret_ended = candidates.count < MESSAGES;
    *after = candidates.count > 0 ? candidates.ids[candidates.count - 1] : *after;
    return true;
}

/* Runs the step and commits. NULL with the fault set: nothing was committed. */
static struct sql_rows *commit_batch(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                     struct fault *fault)
{
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, step, values);
    ledger_add_release_all(ledger);
    size_t commit = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(commit));
    struct sql_rows *rows = sql_send(ledger->sql, fault) ? sql_take(ledger->sql, mark, fault) : NULL;
    if (rows != NULL && !sql_committed(ledger->sql, commit, fault))
        sql_rows_free(&rows);
    sql_finish(ledger->sql);
    if (rows != NULL)
        return rows;
    roll_back(ledger);
    ledger_add_remedy(ledger, SQL_OPERATOR, fault);
    return NULL;
}

static int64_t appending_ms(const struct ledger *ledger, const struct ledger_expire *expire)
{
    int64_t hold_off = ledger->config->delivery.hold_off;
    return expire->older_than_ms > hold_off ? expire->older_than_ms : hold_off;
}

/* Which messages are to be abandoned, as values. */
#define EXPIRED(ledger, expire) \
    .older_ms = SQL_NUMBER((expire)->older_than_ms), .appending_ms = SQL_NUMBER(appending_ms(ledger, expire)), \
    .upto = SQL_NUMBER((expire)->upto)

struct ledger_table *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                           struct fault *fault)
{
    return ledger_query(ledger, SQL_STEP(preview_expired, EXPIRED(ledger, expire), .after = SQL_NUMBER(expire->after)),
                        fault);
}

bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_ask(ledger, SQL_OPERATOR, SQL_STEP(message_is_open, .message = SQL_NUMBER(message)), fault);
    if (rows != NULL)
        *ret = sql_truth(rows, 0, MESSAGE_IS_OPEN_OPEN);
    return rows != NULL;
}

struct ledger_table *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire, struct fault *fault)
{
    struct ledger_expire next = *expire;
    struct batch batch;
    if (!lock_batch(ledger,
                    SQL_STEP(find_expired, EXPIRED(ledger, expire), .after = SQL_NUMBER(expire->after),
                             .most = SQL_NUMBER(MESSAGES)),
                    &next.after, &next.ended, &batch, fault))
        return NULL;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = NULL;
    if (batch.open) {
        sql_receive_any(ledger->sql);
        rows =
            commit_batch(ledger,
                         SQL_STEP(abandon_expired, EXPIRED(ledger, expire), .ids = SQL_NUMBERS(batch.ids, batch.count)),
                         fault);
        if (rows == NULL)
            return NULL;
    }
    *expire = next;
    return ledger_table_of(rows);
}

bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_ask(ledger, SQL_OPERATOR,
                   SQL_STEP(count_old, .older_ms = SQL_NUMBER(older_than_ms),
                            .abandon_ms = SQL_NUMBER(ledger->config->record.abandon_after)),
                   fault);
    if (rows != NULL)
        *ret = sql_number(rows, 0, COUNT_OLD_MESSAGES);
    return rows != NULL;
}

static bool delete_leases(struct ledger *ledger, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_change(ledger, SQL_OPERATOR, SQL_STEP(delete_leases), fault);
    return rows != NULL;
}

bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault)
{
    struct ledger_purge next = *purge;
    struct batch batch;
    if ((purge->after == 0 && !delete_leases(ledger, fault)) ||
        !lock_batch(ledger,
                    SQL_STEP(find_old, .older_ms = SQL_NUMBER(purge->older_than_ms), .after = SQL_NUMBER(purge->after),
                             .most = SQL_NUMBER(MESSAGES)),
                    &next.after, &next.ended, &batch, fault))
        return false;
    if (batch.open) {
        sql_add(ledger->sql, SQL_STEP(lock_tally));
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            commit_batch(ledger,
                         SQL_STEP(delete_old, .older_ms = SQL_NUMBER(purge->older_than_ms),
                                  .ids = SQL_NUMBERS(batch.ids, batch.count)),
                         fault);
        if (rows == NULL)
            return false;
        next.deleted += sql_number(rows, 0, DELETE_OLD_DELETED);
    }
    *purge = next;
    return true;
}
