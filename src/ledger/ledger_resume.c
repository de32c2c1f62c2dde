/* SPDX-License-Identifier: ISC
 *
 * Unfinished messages in the record, and their bytes, chunk by chunk. */
#include "ledger/ledger_resume.h"

#include <glib.h>

#include "ledger/ledger_session.h"

bool ledger_unfinished_ids(struct ledger *ledger, int64_t after, size_t limit, int64_t *ret_ids, size_t *ret_count,
                           struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_ask(ledger, SQL_OPERATOR,
                   SQL_STEP(unfinished_ids, .after = SQL_NUMBER(after), .most = SQL_NUMBER((int64_t)limit)), fault);
    if (rows == NULL)
        return false;
    *ret_count = MIN(rows->count, limit);
    for (size_t i = 0; i < *ret_count; i++)
        ret_ids[i] = sql_number(rows, i, UNFINISHED_IDS_MESSAGE);
    return true;
}

bool ledger_unfinished_others(struct ledger *ledger, int64_t *ret, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_ask(ledger, SQL_OPERATOR, SQL_STEP(unfinished_others), fault);
    if (rows != NULL)
        *ret = sql_number(rows, 0, UNFINISHED_OTHERS_MESSAGES);
    return rows != NULL;
}

/* If there are not enough digits, the message's bytes will not match. */
static void take_digest(const char *hex, unsigned char digest[LEDGER_HASH_SIZE])
{
    for (size_t i = 0; i < LEDGER_HASH_SIZE && hex[2 * i] != '\0' && hex[2 * i + 1] != '\0'; i++)
        digest[i] = (unsigned char)(g_ascii_xdigit_value(hex[2 * i]) * 16 + g_ascii_xdigit_value(hex[2 * i + 1]));
}

/* One row for each unfinished delivery; each row has the message's columns. */
static struct ledger_unfinished *take_unfinished(const struct sql_rows *rows)
{
    struct ledger_unfinished *unfinished = base_alloc(sizeof(*unfinished));
    unfinished->message_id = sql_copy(rows, 0, UNFINISHED_READ_MESSAGE_ID);
    unfinished->sender = sql_copy(rows, 0, UNFINISHED_READ_SENDER);
    unfinished->queue_id = sql_copy(rows, 0, UNFINISHED_READ_QUEUE_ID);
    take_digest(sql_text(rows, 0, UNFINISHED_READ_DIGEST), unfinished->digest);
    unfinished->sent_account = sql_copy(rows, 0, UNFINISHED_READ_SENT_ACCOUNT);
    unfinished->sent_mailbox = sql_copy(rows, 0, UNFINISHED_READ_SENT_MAILBOX);
    unfinished->recipients = base_alloc((rows->count + 1) * sizeof(char *));
    unfinished->originals = base_alloc((rows->count + 1) * sizeof(char *));
    for (size_t row = 0; row < rows->count; row++) {
        unfinished->recipients[row] = sql_copy(rows, row, UNFINISHED_READ_RECIPIENT);
        unfinished->originals[row] = base_strdup(sql_text(rows, row, UNFINISHED_READ_ORIGINAL));
    }
    return unfinished;
}

bool ledger_unfinished_read(struct ledger *ledger, int64_t id, struct ledger_unfinished **ret, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        ledger_ask(ledger, SQL_OPERATOR, SQL_STEP(unfinished_read, .message = SQL_NUMBER(id)), fault);
    if (rows == NULL)
        return false;
    *ret = rows->count > 0 ? take_unfinished(rows) : NULL;
    return true;
}

void ledger_unfinished_free(struct ledger_unfinished **unfinished)
{
    if (*unfinished == NULL)
        return;
    base_free(&(*unfinished)->message_id);
    base_free(&(*unfinished)->sender);
    base_free(&(*unfinished)->queue_id);
    g_strfreev((*unfinished)->recipients);
    g_strfreev((*unfinished)->originals);
    base_free(&(*unfinished)->sent_account);
    base_free(&(*unfinished)->sent_mailbox);
    base_free(unfinished);
}

bool ledger_raw(struct ledger *ledger, int64_t id,
                bool (*take)(void *context, const void *bytes, size_t size, struct fault *fault), void *context,
                struct fault *fault)
{
    for (int64_t chunk = 0;; chunk++) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
            ledger_ask(ledger, SQL_OPERATOR, SQL_STEP(raw_chunk, .message = SQL_NUMBER(id), .chunk = SQL_NUMBER(chunk)),
                       fault);
        if (rows == NULL)
            return false;
        if (rows->count == 0)
            return true;
        if (!take(context, sql_text(rows, 0, RAW_CHUNK_DATA), rows->cells[RAW_CHUNK_DATA].size, fault))
            return false;
    }
}
