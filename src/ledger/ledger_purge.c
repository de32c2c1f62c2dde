/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

/* Locks the next messages of the step find_expired or find_old. */
static bool lock_next(struct ledger *ledger, enum sql_step find, const struct sql_value *values, int64_t *after,
                      bool *ret_ended, struct ledger_batch *ret, struct error *error)
{
    struct ledger_candidates candidates;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_batch_find(ledger, find, values, error);
    if (rows == NULL)
        return false;
    candidates.count = MIN(rows->count, LEDGER_BATCH);
    for (size_t i = 0; i < candidates.count; i++) {
        candidates.ids[i] = sql_number(rows, i, FIND_OLD_ID);
        candidates.keys[i] = sql_number(rows, i, FIND_OLD_LOCK_KEY);
    }
    if (!ledger_batch_lock(ledger, &candidates, ret, error))
        return false;
    *ret_ended = candidates.count < LEDGER_BATCH;
    *after = candidates.count > 0 ? candidates.ids[candidates.count - 1] : *after;
    return true;
}

#define EXPIRED(ledger, expire) \
    .older_ms = SQL_NUMBER((expire)->older_than_ms), LEDGER_HOLD_OFF(ledger), .upto = SQL_NUMBER((expire)->upto)

struct sql_rows *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(preview_expired, EXPIRED(ledger, expire), .after = SQL_NUMBER(expire->after)),
                        error);
}

bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR, SQL_STEP(message_is_open, .message = SQL_NUMBER(message)), error);
    if (rows != NULL)
        *ret = sql_bool(rows, 0, MESSAGE_IS_OPEN_OPEN);
    return rows != NULL;
}

struct sql_rows *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire, struct error *error)
{
    struct ledger_expire next = *expire;
    struct ledger_batch batch;
    if (!lock_next(ledger,
                   SQL_STEP(find_expired, EXPIRED(ledger, expire), .after = SQL_NUMBER(expire->after),
                            .max = SQL_NUMBER(LEDGER_BATCH)),
                   &next.after, &next.ended, &batch, error))
        return NULL;
    struct sql_rows *rows = NULL;
    if (batch.open) {
        sql_unlimit_result(ledger->sql);
        rows = ledger_batch_commit(ledger,
                                   SQL_STEP(expire_messages, EXPIRED(ledger, expire),
                                            .ids = SQL_NUMBERS(batch.ids, batch.count)),
                                   error);
        if (rows == NULL)
            return NULL;
    }
    *expire = next;
    return rows != NULL ? rows : sql_rows_new(0);
}

bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR,
                    SQL_STEP(count_old, .older_ms = SQL_NUMBER(older_than_ms),
                             .expire_ms = SQL_NUMBER(ledger->config->record.expire_after)),
                    error);
    if (rows != NULL)
        *ret = sql_number(rows, 0, COUNT_OLD_MESSAGES);
    return rows != NULL;
}

/* Deletes old rows that belong to no message. */
static bool delete_others(struct ledger *ledger, struct error *error)
{
    struct sql_rows *leases OD_CLEANUP(sql_rows_free) =
        ledger_write(ledger, SQL_OPERATOR, SQL_STEP(delete_leases), error);
    struct sql_rows *refusals OD_CLEANUP(sql_rows_free) =
        leases != NULL ? ledger_write(ledger, SQL_OPERATOR, SQL_STEP(delete_refusals), error) : NULL;
    return refusals != NULL;
}

bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct error *error)
{
    struct ledger_purge next = *purge;
    struct ledger_batch batch;
    if ((purge->after == 0 && !delete_others(ledger, error)) ||
        !lock_next(ledger,
                   SQL_STEP(find_old, .older_ms = SQL_NUMBER(purge->older_than_ms), .after = SQL_NUMBER(purge->after),
                            .max = SQL_NUMBER(LEDGER_BATCH)),
                   &next.after, &next.ended, &batch, error))
        return false;
    if (batch.open) {
        sql_add(ledger->sql, SQL_STEP(lock_counter));
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            ledger_batch_commit(ledger,
                                SQL_STEP(delete_old, .older_ms = SQL_NUMBER(purge->older_than_ms),
                                         .ids = SQL_NUMBERS(batch.ids, batch.count)),
                                error);
        if (rows == NULL)
            return false;
        next.deleted += sql_number(rows, 0, DELETE_OLD_DELETED);
    }
    *purge = next;
    return true;
}
