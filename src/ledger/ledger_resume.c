/* SPDX-License-Identifier: ISC
 *
 * Unfinished messages in the record, and their bytes, chunk by chunk. */
#include "ledger/ledger_resume.h"

#include <glib.h>
#include <string.h>

#include "ledger/ledger_session.h"

#define IS_WHOLE "EXISTS (SELECT FROM @schema@.delivery w WHERE w.message = d.message AND w.whole)"
#define HAS_BYTES "EXISTS (SELECT FROM @schema@.raw r WHERE r.message = d.message AND r.chunk = 0)"

bool ledger_unfinished_ids(struct ledger *ledger, int64_t after, size_t limit, int64_t *ret_ids, size_t *ret_count,
                           struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) = ledger_ask(
        ledger, LEDGER_OPERATOR,
        "SELECT DISTINCT d.message FROM @schema@.delivery d WHERE d.finished_at IS NULL AND d.message > $1::bigint"
        " AND " IS_WHOLE " AND " HAS_BYTES " ORDER BY d.message LIMIT $2::bigint",
        PG_PARAMS(PG_NUMBER(after), PG_NUMBER((int64_t)limit)), fault);
    if (result == NULL)
        return false;
    *ret_count = (size_t)PQntuples(result);
    for (size_t i = 0; i < *ret_count; i++)
        ret_ids[i] = pg_int(result, (int)i, 0);
    return true;
}

bool ledger_unfinished_others(struct ledger *ledger, int64_t *ret, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) =
        ledger_ask(ledger, LEDGER_OPERATOR,
                   "SELECT count(DISTINCT d.message) FROM @schema@.delivery d WHERE d.finished_at IS NULL"
                   " AND NOT (" IS_WHOLE " AND " HAS_BYTES ")",
                   0, NULL, fault);
    if (result != NULL)
        *ret = pg_int(result, 0, 0);
    return result != NULL;
}

static void take_digest(const char *hex, unsigned char digest[LEDGER_HASH_SIZE])
{
    for (size_t i = 0; i < LEDGER_HASH_SIZE; i++)
        digest[i] = (unsigned char)(g_ascii_xdigit_value(hex[2 * i]) * 16 + g_ascii_xdigit_value(hex[2 * i + 1]));
}

/* One row for each unfinished delivery; each row has the message's columns. */
static struct ledger_unfinished *take_unfinished(const PGresult *result)
{
    int rows = PQntuples(result);
    struct ledger_unfinished *unfinished = base_alloc(sizeof(*unfinished));
    unfinished->message_id = pg_copy(result, 0, 0);
    unfinished->sender = pg_copy(result, 0, 1);
    unfinished->queue_id = pg_copy(result, 0, 2);
    take_digest(PQgetvalue(result, 0, 3), unfinished->digest);
    unfinished->sent_account = pg_copy(result, 0, 4);
    unfinished->sent_mailbox = pg_copy(result, 0, 5);
    unfinished->recipients = base_alloc(((size_t)rows + 1) * sizeof(char *));
    unfinished->originals = base_alloc(((size_t)rows + 1) * sizeof(char *));
    for (int row = 0; row < rows; row++) {
        unfinished->recipients[row] = pg_copy(result, row, 6);
        unfinished->originals[row] = base_strdup(PQgetvalue(result, row, 7));
    }
    return unfinished;
}

bool ledger_unfinished_read(struct ledger *ledger, int64_t id, struct ledger_unfinished **ret, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) = ledger_ask(
        ledger, LEDGER_OPERATOR,
        "SELECT m.message_id, m.sender, d.queue_id, encode(m.digest, 'hex'), s.account, s.mailbox, d.recipient,"
        " d.original_recipient FROM @schema@.message m JOIN @schema@.delivery d ON d.message = m.id"
        " LEFT JOIN LATERAL (SELECT account, mailbox FROM @schema@.copy WHERE message = m.id AND role = 'sent'"
        " ORDER BY id DESC LIMIT 1) s ON true"
        " WHERE m.id = $1::bigint AND d.finished_at IS NULL ORDER BY d.id",
        PG_PARAMS(PG_NUMBER(id)), fault);
    if (result == NULL)
        return false;
    *ret = PQntuples(result) > 0 ? take_unfinished(result) : NULL;
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

static void free_bytes(unsigned char **bytes)
{
    PQfreemem(*bytes);
}

bool ledger_raw(struct ledger *ledger, int64_t id,
                bool (*take)(void *context, const void *bytes, size_t size, struct fault *fault), void *context,
                struct fault *fault)
{
    for (int64_t chunk = 0;; chunk++) {
        PGresult *result OD_CLEANUP(pg_clear) =
            ledger_ask(ledger, LEDGER_OPERATOR,
                       "SELECT data FROM @schema@.raw WHERE message = $1::bigint AND chunk = $2::integer",
                       PG_PARAMS(PG_NUMBER(id), PG_NUMBER(chunk)), fault);
        if (result == NULL)
            return false;
        if (PQntuples(result) == 0)
            return true;
        size_t size;
        unsigned char *bytes OD_CLEANUP(free_bytes) =
            PQunescapeBytea((const unsigned char *)PQgetvalue(result, 0, 0), &size);
        if (bytes == NULL)
            return fault_set(fault, "no memory for the recorded message");
        if (!take(context, bytes, size, fault))
            return false;
    }
}
