/* SPDX-License-Identifier: ISC
 *
 * The message of a transaction: received, delivered, answered. */
#include "lmtp/lmtp_message.h"
#include "base/deadline.h"
#include "delivery/received.h"

struct lmtp_incoming lmtp_incoming_begin(const struct config *config)
{
    return (struct lmtp_incoming){.builder = message_builder_new((size_t)config->delivery.size_limit,
                                                                 (const char *const *)config->identity.ignore)};
}

void lmtp_incoming_feed(void *context, const void *bytes, size_t size)
{
    struct lmtp_incoming *incoming = context;
    if (!incoming->failed)
        incoming->failed = !message_builder_feed(incoming->builder, bytes, size, &incoming->fault);
}

enum message_result lmtp_incoming_end(struct lmtp_incoming *incoming, struct message **ret)
{
    return incoming->failed ? MESSAGE_TROUBLE : message_builder_end(incoming->builder, ret, &incoming->fault);
}

void lmtp_incoming_clear(struct lmtp_incoming *incoming)
{
    message_builder_free(&incoming->builder);
}

void lmtp_run(struct lmtp *lmtp, struct delivery *delivery)
{
    struct ledger **ledger = &lmtp->kept->ledger;
    struct fault fault;
    if (*ledger == NULL)
        *ledger = ledger_open(lmtp->config, delivery->request->queue_id, &fault);
    delivery->ledger = *ledger;
    if (*ledger == NULL)
        delivery_refuse(delivery, OUTCOME_DATABASE, fault.text);
    else
        delivery_run(delivery);
    deadline_disarm();
}

static void reply_to_each(struct lmtp *lmtp, const struct delivery *delivery)
{
    char line[1024];
    for (size_t i = 0; i < delivery->request->recipient_count; i++) {
        const struct report *report = &delivery->answers[i].report;
        lmtp_stream_reply(lmtp->stream, "%d %s", outcome_row(report->outcome)->lmtp,
                          report_line(report, line, sizeof(line)));
    }
    (void)lmtp_stream_flush(lmtp->stream); /* settled: whether the peer still reads this does not matter */
}

/* The recipients in the form of a delivery. original: the address before aliases, found in the message, of the only
 * recipient; or NULL. */
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

/* Delivers to all recipients under one lock; sends a reply for each, in their order (RFC 2033, 4.2). message: NULL if
 * there is none; `refused` then has the reason. */
static void deliver_and_reply(struct lmtp *lmtp, const struct message *message, int64_t started_ms,
                              const struct report *refused)
{
    struct lmtp_transaction *transaction = &lmtp->transaction;
    guint count = transaction->recipients->len;
    int64_t queued_at = 0;
    char *original OD_CLEANUP(base_free) = message != NULL && count == 1 ? received_original(message) : NULL;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = list_recipients(transaction, original);
    if (message != NULL)
        received_queue(message, &transaction->queue_id, &queued_at);
    const struct delivery_request request = {
        .config = lmtp->config,
        .sessions = lmtp->kept->sessions,
        .message = message,
        .sender = transaction->sender,
        .only_login = lmtp->terms->only_login,
        .queue_id = transaction->queue_id,
        .queued_at = queued_at,
        .whole = true,
        .recipients = recipients,
        .recipient_count = count,
    };
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = started_ms};
    delivery_spent(&delivery, PHASE_READ);
    if (message == NULL)
        delivery_refuse(&delivery, refused->outcome, refused->text);
    else
        lmtp_run(lmtp, &delivery);
    reply_to_each(lmtp, &delivery);
    delivery_log(&delivery);
}

/* Makes a message of what was read after DATA, or sends every recipient the reason why not. */
static void deliver_incoming(struct lmtp *lmtp, struct lmtp_incoming *incoming, int64_t started_ms)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    struct report refused = {.given = false};
    enum message_result result = lmtp_incoming_end(incoming, &message);
    if (result != MESSAGE_OK)
        report_set(&refused, result == MESSAGE_TOO_LARGE ? OUTCOME_TOO_LARGE : OUTCOME_TROUBLE, "%s",
                   incoming->fault.text);
    deliver_and_reply(lmtp, message, started_ms, &refused);
}

bool lmtp_message_receive(struct lmtp *lmtp)
{
    int64_t started_ms = base_now_ms();
    struct lmtp_incoming incoming OD_CLEANUP(lmtp_incoming_clear) = lmtp_incoming_begin(lmtp->config);
    lmtp_stream_reply(lmtp->stream, "354 end data with <CR><LF>.<CR><LF>");
    enum lmtp_read result = lmtp_stream_data(lmtp->stream, lmtp->terms->times.idle,
                                             lmtp->end_ms + lmtp->terms->times.last_data, lmtp_incoming_feed,
                                             &incoming);
    if (result == LMTP_READ_TIMEOUT)
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s timeout while reading data", lmtp->host);
    if (result != LMTP_READ_OK)
        return false; /* without its end mark the message is void */
    deliver_incoming(lmtp, &incoming, started_ms);
    lmtp->messages++;
    lmtp->expected = false;
    lmtp_transaction_reset(&lmtp->transaction);
    return true;
}
