/* SPDX-License-Identifier: ISC */
#include "delivery/received.h"
#include "lmtp/lmtp_internal.h"

struct message_builder *lmtp_message_new(const struct config *config)
{
    return message_builder_new((size_t)config->delivery.size_limit,
                               (const char *const *)config->identity.ignore_headers);
}

void lmtp_message_feed(void *context, const void *bytes, size_t size)
{
    struct error ignored;
    (void)!message_builder_feed(context, bytes, size, &ignored);
}

bool lmtp_open_ledger(struct lmtp *lmtp, const char *queue_id, struct error *error)
{
    struct ledger **ledger = &lmtp->cache->ledger;
    if (*ledger == NULL)
        *ledger = ledger_open(lmtp->config, queue_id, error);
    return *ledger != NULL;
}

void lmtp_run(struct lmtp *lmtp, struct delivery *delivery)
{
    struct error error;
    bool open = lmtp_open_ledger(lmtp, delivery->request->queue_id, &error);
    delivery->ledger = lmtp->cache->ledger;
    if (!open)
        delivery_refuse(delivery, OUTCOME_DATABASE, error.text);
    else
        delivery_run(delivery);
    deadline_disarm();
}

static void reply_to_each(struct lmtp *lmtp, const struct delivery *delivery)
{
    char line[1024];
    for (size_t i = 0; i < delivery->request->recipient_count; i++) {
        const struct report *report = &delivery->replies[i].report;
        lmtp_stream_reply(lmtp->stream, "%d %s", outcome_row(report->outcome)->lmtp,
                          report_line(report, line, sizeof(line)));
    }
    (void)lmtp_stream_flush(lmtp->stream); /* settled: the reply may be lost */
}

/* original: the address before aliases, of the only recipient; or NULL. */
static struct delivery_recipient *list_recipients(const struct lmtp_transaction *transaction, const char *original)
{
    guint count = transaction->recipients->len;
    struct delivery_recipient *recipients = base_alloc(count * sizeof(*recipients));
    for (guint i = 0; i < count; i++) {
        const struct lmtp_recipient *recipient = &g_array_index(transaction->recipients, struct lmtp_recipient, i);
        recipients[i] = (struct delivery_recipient){
            .address = recipient->path,
            .original = original != NULL ? original : recipient->original,
            .parsed = &recipient->address,
        };
    }
    return recipients;
}

/* Delivers to all recipients under one lock, or refuses for all. Replies in order (RFC 2033, 4.2). */
static void deliver_and_reply(struct lmtp *lmtp, struct message_builder *builder, int64_t started_ms)
{
    struct lmtp_transaction *transaction = &lmtp->transaction;
    guint count = transaction->recipients->len;
    int64_t queued_at = 0;
    struct error error;
    struct message *message OD_CLEANUP(message_free) = NULL;
    enum message_result result = message_builder_end(builder, &message, &error);
    char *original OD_CLEANUP(base_free) = message != NULL && count == 1 ? received_original(message) : NULL;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = list_recipients(transaction, original);
    if (message != NULL)
        received_queue(message, &transaction->queue_id, &queued_at);
    const struct delivery_request request = {
        .config = lmtp->config,
        .sessions = lmtp->cache->sessions,
        .message = message,
        .sender = transaction->sender,
        .only_login = lmtp->terms->only_login,
        .queue_id = transaction->queue_id,
        .queued_at = queued_at,
        .complete = true,
        .recipients = recipients,
        .recipient_count = count,
    };
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = started_ms};
    delivery_add_time(&delivery, PHASE_READ);
    if (result == MESSAGE_OK)
        lmtp_run(lmtp, &delivery);
    else
        delivery_refuse(&delivery, result == MESSAGE_TOO_LARGE ? OUTCOME_TOO_LARGE : OUTCOME_TEMPFAIL, error.text);
    reply_to_each(lmtp, &delivery);
    delivery_log(&delivery);
}

bool lmtp_message_receive(struct lmtp *lmtp)
{
    int64_t started_ms = base_now_ms();
    struct message_builder *builder OD_CLEANUP(message_builder_free) = lmtp_message_new(lmtp->config);
    lmtp_stream_reply(lmtp->stream, "354 end data with <CR><LF>.<CR><LF>");
    enum lmtp_read result = lmtp_stream_data(lmtp->stream, lmtp->terms->times.idle,
                                             lmtp->end_ms + lmtp->terms->times.last_data, lmtp_message_feed, builder);
    if (result == LMTP_READ_TIMEOUT)
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s timeout while reading data", lmtp->host);
    if (result != LMTP_READ_OK)
        return false; /* incomplete without its end mark */
    deliver_and_reply(lmtp, builder, started_ms);
    return true;
}
