/* SPDX-License-Identifier: ISC
 *
 * The message of a transaction: received, delivered, answered. */
#include "lmtp/lmtp_message.h"

#include <string.h>

#include "base/deadline.h"
#include "delivery/received.h"
#include "lmtp/lmtp_parcel.h"

#define RELAY_RECIPIENTS 50 /* whose replies fit into a datagram */
#define RELAY_MS 50         /* that a keeper may be busy with something else */

struct message_builder *lmtp_message_new(const struct config *config)
{
    return message_builder_new((size_t)config->delivery.size_limit, (const char *const *)config->identity.ignore);
}

void lmtp_message_feed(void *context, const void *bytes, size_t size)
{
    struct fault ignored;
    (void)!message_builder_feed(context, bytes, size, &ignored); /* message_builder_end says so again */
}

void lmtp_run(const struct config *config, struct lmtp_kept *kept, struct delivery *delivery)
{
    struct ledger **ledger = &kept->ledger;
    struct fault fault;
    if (*ledger == NULL)
        *ledger = ledger_open(config, delivery->request->queue_id, &fault);
    delivery->ledger = *ledger;
    if (*ledger == NULL)
        delivery_refuse(delivery, OUTCOME_DATABASE, fault.text);
    else
        delivery_run(delivery);
    deadline_disarm();
}

/* A message that was received whole, with its transaction, and what came of it. */
struct received {
    const struct config *config;
    struct lmtp_kept *kept;
    struct lmtp_transaction *transaction;
    const struct message *message; /* NULL: it cannot be delivered */
    const char *only_login;
    int64_t started_ms;
};

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

/* The replies for each recipient, in their order (RFC 2033, 4.2), each with LF. */
static char *list_replies(const struct delivery *delivery)
{
    char line[1024];
    GString *replies = g_string_new(NULL);
    for (size_t i = 0; i < delivery->request->recipient_count; i++) {
        const struct report *report = &delivery->answers[i].report;
        g_string_append_printf(replies, "%d %s\n", outcome_row(report->outcome)->lmtp,
                               report_line(report, line, sizeof(line)));
    }
    return g_string_free(replies, FALSE);
}

/* Whether there was a reply for each recipient. What was settled is settled, whether the client still reads this or not. */
static bool pass_replies(struct lmtp *lmtp, const char *replies)
{
    g_auto(GStrv) lines = g_strsplit(replies, "\n", -1);
    if (g_strv_length(lines) != lmtp->transaction.recipients->len + 1)
        return false;
    for (guint i = 0; i < lmtp->transaction.recipients->len; i++)
        lmtp_stream_reply(lmtp->stream, "%s", lines[i]);
    (void)lmtp_stream_flush(lmtp->stream);
    return true;
}

/* Delivers the message to all recipients under one lock, or refuses it for all of them, if there is a refusal; replies to
 * our client, or else (NULL) to the worker that has sent it. */
static void deliver(struct received *received, const struct report *refusal, struct lmtp *client, int reply_fd)
{
    struct lmtp_transaction *transaction = received->transaction;
    const struct message *message = received->message;
    guint count = transaction->recipients->len;
    int64_t queued_at = 0;
    char *original OD_CLEANUP(base_free) = message != NULL && count == 1 ? received_original(message) : NULL;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = list_recipients(transaction, original);
    if (message != NULL)
        received_queue(message, &transaction->queue_id, &queued_at);
    const struct delivery_request request = {
        .config = received->config,
        .sessions = received->kept->sessions,
        .message = message,
        .sender = transaction->sender,
        .only_login = received->only_login,
        .queue_id = transaction->queue_id,
        .queued_at = queued_at,
        .whole = true,
        .recipients = recipients,
        .recipient_count = count,
    };
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = received->started_ms};
    delivery_spent(&delivery, PHASE_READ);
    if (refusal->given)
        delivery_refuse(&delivery, refusal->outcome, refusal->text);
    else
        lmtp_run(received->config, received->kept, &delivery);
    char *replies OD_CLEANUP(base_free) = list_replies(&delivery);
    if (client == NULL)
        lmtp_relay_answer(reply_fd, replies, strlen(replies));
    else
        (void)pass_replies(client, replies);
    delivery_log(&delivery);
}

bool lmtp_message_take(const struct config *config, struct lmtp_kept *kept, int inbox, _Atomic uint64_t *tickets)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    struct lmtp_transaction transaction OD_CLEANUP(lmtp_transaction_clear) = lmtp_transaction_new(NULL, 0);
    struct received received = {.config = config, .kept = kept, .transaction = &transaction};
    unsigned char bytes[LMTP_RELAY_MOST];
    size_t size;
    int reply_fd OD_CLEANUP(base_close) = -1;
    if (!lmtp_relay_receive(inbox, tickets, (size_t)config->service.workers, bytes, &size, &reply_fd))
        return false;
    if (!lmtp_parcel_unpack(config, bytes, size, &transaction, &message, &received.started_ms))
        return true;
    received.message = message;
    deliver(&received, &(struct report){.given = false}, NULL, reply_fd);
    return true;
}

/* Whether a keeper of this account's session is to deliver this. What takes long to store anyway is not sent around, nor what comes
 * from a user who is not believed. */
static bool has_keeper(const struct lmtp *lmtp, size_t *ret_keeper)
{
    const struct lmtp_relay *relay = lmtp->terms->relay;
    GArray *recipients = lmtp->transaction.recipients;
    if (relay == NULL || lmtp->terms->only_login != NULL || recipients->len > RELAY_RECIPIENTS)
        return false;
    *ret_keeper = lmtp_relay_keeper(relay, g_array_index(recipients, struct lmtp_recipient, 0).address.address);
    return true;
}

/* Lets the account's keeper deliver it, and replies; false: that does not come about, and it has not begun. */
static bool deliver_by_keeper(struct lmtp *lmtp, const struct received *received, struct report *ret_refusal)
{
    struct lmtp_relay *relay = lmtp->terms->relay;
    char replies[LMTP_RELAY_MOST + 1];
    size_t keeper, size = 0;
    if (!has_keeper(lmtp, &keeper))
        return false;
    g_autoptr(GBytes) parcel = lmtp_parcel_pack(&lmtp->transaction, received->message, received->started_ms);
    int fd OD_CLEANUP(base_close) =
        lmtp_relay_send(relay, keeper, g_bytes_get_data(parcel, NULL), g_bytes_get_size(parcel));
    if (fd < 0)
        return false;
    enum lmtp_relay_wait result =
        lmtp_relay_await(relay, fd, base_now_ms() + RELAY_MS, replies, LMTP_RELAY_MOST, &size);
    replies[size] = '\0';
    if (result == LMTP_RELAY_BACK)
        return false;
    if (result == LMTP_RELAY_ANSWER && pass_replies(lmtp, replies))
        return true;
    report_set(ret_refusal, OUTCOME_TROUBLE, "the process that delivered this has ended: it may be stored already");
    return false;
}

/* Makes a message of what was read after DATA, and has it delivered. */
static void deliver_and_reply(struct lmtp *lmtp, struct message_builder *builder, int64_t started_ms)
{
    struct fault fault;
    struct report refusal = {.given = false};
    struct message *message OD_CLEANUP(message_free) = NULL;
    enum message_result result = message_builder_end(builder, &message, &fault);
    struct received received = {
        .config = lmtp->config,
        .kept = lmtp->kept,
        .transaction = &lmtp->transaction,
        .message = message,
        .only_login = lmtp->terms->only_login,
        .started_ms = started_ms,
    };
    if (result != MESSAGE_OK)
        report_set(&refusal, result == MESSAGE_TOO_LARGE ? OUTCOME_TOO_LARGE : OUTCOME_TROUBLE, "%s", fault.text);
    else if (deliver_by_keeper(lmtp, &received, &refusal))
        return;
    deliver(&received, &refusal, lmtp, -1);
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
        return false; /* without its end mark the message is void */
    deliver_and_reply(lmtp, builder, started_ms);
    lmtp->messages++;
    lmtp->expected = false;
    lmtp_transaction_reset(&lmtp->transaction);
    return true;
}
