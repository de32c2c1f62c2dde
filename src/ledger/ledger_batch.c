/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

static void roll_back(struct ledger *ledger)
{
    struct error ignored;
    ledger_rollback(ledger);
    if (!ledger_leases(ledger) || !sql_usable(ledger->sql))
        return;
    ledger_add_begin_idle(ledger);
    ledger_add_release_all(ledger);
    sql_add(ledger->sql, SQL_STEP(commit));
    if (sql_send(ledger->sql, &ignored))
        ledger_finish(ledger);
}

/* Returns rows. NULL: undoes the batch. */
static struct sql_rows *end_query(struct ledger *ledger, struct sql_rows *rows, struct error *error)
{
    sql_finish(ledger->sql);
    if (rows == NULL) {
        roll_back(ledger);
        ledger_add_hint(ledger, SQL_OPERATOR, error);
    }
    return rows;
}

struct sql_rows *ledger_batch_find(struct ledger *ledger, enum sql_step find, const struct sql_value *values,
                                   struct error *error)
{
    if (!ledger_connect(ledger, error) || !ledger_set_lock(ledger, 0, error))
        return NULL;
    ledger_add_begin_read(ledger, SQL_TIMEOUT_MS);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(read_setting));
    sql_add(ledger->sql, find, values);
    sql_add(ledger->sql, SQL_STEP(commit));
    struct sql_rows *setting OD_CLEANUP(sql_rows_free) =
        sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    struct sql_rows *rows = setting != NULL ? sql_get_result(ledger->sql, mark + 1, error) : NULL;
    if (rows != NULL &&
        !ledger_agrees(ledger, setting->count == 1 ? sql_text(setting, 0, READ_SETTING_LOCK_METHOD) : NULL, error))
        sql_rows_free(&rows);
    return end_query(ledger, rows, error);
}

static bool lock_messages(struct ledger *ledger, const struct ledger_candidates *candidates, struct ledger_batch *ret,
                          struct error *error)
{
    bool good = true;
    ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    size_t mark = sql_mark(ledger->sql);
    for (size_t i = 0; i < candidates->count; i++)
        ledger_add_acquire(ledger, candidates->keys[i], 0);
    size_t end = sql_mark(ledger->sql);
    ledger_add_end(ledger);
    if (!sql_send(ledger->sql, error))
        return false;
    for (size_t i = 0; i < candidates->count; i++) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_get_result(ledger->sql, mark + i, error);
        if (rows != NULL && lock_granted(rows))
            ret->ids[ret->count++] = candidates->ids[i];
        good = good && rows != NULL;
    }
    good = good && ledger_ended(ledger, end, error);
    sql_finish(ledger->sql);
    return good;
}

/* Locks the messages' rows, and removes the others from the batch. A claim whose lease has expired may be about to
 * commit without the lock, but locks its message's row. */
static bool lock_rows(struct ledger *ledger, struct ledger_batch *batch, struct error *error)
{
    ledger_add_begin_under(ledger);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(lock_messages, .ids = SQL_NUMBERS(batch->ids, batch->count)));
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    batch->count = rows != NULL ? MIN(rows->count, LEDGER_BATCH) : 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->ids[i] = sql_number(rows, i, LOCK_MESSAGES_ID);
    sql_finish(ledger->sql);
    return rows != NULL;
}

bool ledger_batch_lock(struct ledger *ledger, const struct ledger_candidates *candidates, struct ledger_batch *ret,
                       struct error *error)
{
    ret->open = false;
    ret->count = 0;
    if (candidates->count == 0)
        return true;
    if (!lock_messages(ledger, candidates, ret, error) || !lock_rows(ledger, ret, error)) {
        roll_back(ledger);
        ledger_add_hint(ledger, SQL_OPERATOR, error);
        return false;
    }
    ret->open = true;
    return true;
}

struct sql_rows *ledger_batch_commit(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                     struct error *error)
{
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, step, values);
    ledger_add_release_all(ledger);
    size_t commit = sql_mark(ledger->sql);
    sql_add(ledger->sql, SQL_STEP(commit));
    struct sql_rows *rows = sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    if (rows != NULL && !sql_committed(ledger->sql, commit, error))
        sql_rows_free(&rows);
    return end_query(ledger, rows, error);
}
