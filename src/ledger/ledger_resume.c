/* SPDX-License-Identifier: ISC */
#include <glib.h>

#include "ledger/ledger_internal.h"

static bool take_ids(const struct sql_rows *rows, size_t limit, int64_t *ret_ids, size_t *ret_count)
{
    if (rows == NULL)
        return false;
    *ret_count = MIN(rows->count, limit);
    for (size_t i = 0; i < *ret_count; i++)
        ret_ids[i] = sql_number(rows, i, 0);
    return true;
}

bool ledger_unfinished_ids(struct ledger *ledger, int64_t after, size_t limit, int64_t *ret_ids, size_t *ret_count,
                           struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR,
                    SQL_STEP(unfinished_ids, .after = SQL_NUMBER(after), .max = SQL_NUMBER((int64_t)limit)), error);
    return take_ids(rows, limit, ret_ids, ret_count);
}

bool ledger_stored_ids(struct ledger *ledger, const char *account, const char *since, int64_t after, size_t limit,
                       int64_t *ret_ids, size_t *ret_count, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR,
                    SQL_STEP(stored_ids, .after = SQL_NUMBER(after), .max = SQL_NUMBER((int64_t)limit),
                             .account = SQL_TEXT(account), .since = SQL_TEXT(since)),
                    error);
    return take_ids(rows, limit, ret_ids, ret_count);
}

bool ledger_unfinished_others(struct ledger *ledger, int64_t *ret, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR, SQL_STEP(unfinished_others), error);
    if (rows != NULL)
        *ret = sql_number(rows, 0, UNFINISHED_OTHERS_MESSAGES);
    return rows != NULL;
}

static struct ledger_recorded *take_recorded(const struct sql_rows *rows)
{
    struct ledger_recorded *recorded = base_alloc(sizeof(*recorded));
    recorded->message_id = sql_copy(rows, 0, RECORDED_READ_MESSAGE_ID);
    recorded->sender = sql_copy(rows, 0, RECORDED_READ_SENDER);
    recorded->queue_id = sql_copy(rows, 0, RECORDED_READ_QUEUE_ID);
    (void)!base_unhex(sql_text(rows, 0, RECORDED_READ_DIGEST), recorded->digest, LEDGER_HASH_SIZE);
    recorded->sent_account = sql_copy(rows, 0, RECORDED_READ_SENT_ACCOUNT);
    recorded->sent_mailbox = sql_copy(rows, 0, RECORDED_READ_SENT_MAILBOX);
    recorded->has_bytes = sql_bool(rows, 0, RECORDED_READ_HAS_BYTES);
    recorded->recipients = base_alloc((rows->count + 1) * sizeof(char *));
    recorded->originals = base_alloc((rows->count + 1) * sizeof(char *));
    for (size_t row = 0; row < rows->count; row++) {
        recorded->recipients[row] = sql_copy(rows, row, RECORDED_READ_RECIPIENT);
        recorded->originals[row] = base_strdup(sql_text(rows, row, RECORDED_READ_ORIGINAL));
    }
    return recorded;
}

bool ledger_recorded_read(struct ledger *ledger, int64_t id, enum ledger_part part, struct ledger_recorded **ret,
                          struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_read(ledger, SQL_OPERATOR,
                    SQL_STEP(recorded_read, .message = SQL_NUMBER(id),
                             .unfinished = part == LEDGER_UNFINISHED ? SQL_BOOL(true) : SQL_NULL,
                             .stored = part == LEDGER_STORED ? SQL_BOOL(true) : SQL_NULL),
                    error);
    if (rows == NULL)
        return false;
    *ret = rows->count > 0 ? take_recorded(rows) : NULL;
    return true;
}

void ledger_recorded_free(struct ledger_recorded **recorded)
{
    if (*recorded == NULL)
        return;
    base_free(&(*recorded)->message_id);
    base_free(&(*recorded)->sender);
    base_free(&(*recorded)->queue_id);
    g_strfreev((*recorded)->recipients);
    g_strfreev((*recorded)->originals);
    base_free(&(*recorded)->sent_account);
    base_free(&(*recorded)->sent_mailbox);
    base_free(recorded);
}

bool ledger_raw(struct ledger *ledger, int64_t id,
                bool (*take)(void *context, const void *bytes, size_t size, struct error *error), void *context,
                struct error *error)
{
    for (int64_t chunk = 0;; chunk++) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            ledger_read(ledger, SQL_OPERATOR,
                        SQL_STEP(raw_chunk, .message = SQL_NUMBER(id), .chunk = SQL_NUMBER(chunk)), error);
        if (rows == NULL)
            return false;
        if (rows->count == 0)
            return true;
        if (!take(context, sql_text(rows, 0, RAW_CHUNK_DATA), rows->cells[RAW_CHUNK_DATA].size, error))
            return false;
    }
}
