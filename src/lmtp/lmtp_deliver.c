/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp_internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "delivery/envelope.h"
#include "delivery/received.h"

#define RECEIVE_MS 60000 /* the front's timeout is shorter */
#define OLDEST_MS 3600000

static struct message_builder *begin_message(const struct config *config)
{
    return message_builder_new((size_t)config->delivery.size_limit,
                               (const char *const *)config->identity.ignore_headers);
}

/* An lmtp_feed; context: the builder. message_builder_end() reports errors. */
static void feed_message(void *context, const void *bytes, size_t size)
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

/* Opens the ledger, runs the delivery, and disarms the deadline. */
static void run_delivery(struct lmtp *lmtp, struct delivery *delivery)
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
        run_delivery(lmtp, &delivery);
    else
        delivery_refuse(&delivery, result == MESSAGE_TOO_LARGE ? OUTCOME_TOO_LARGE : OUTCOME_TEMPFAIL, error.text);
    reply_to_each(lmtp, &delivery);
    delivery_log(&delivery);
}

bool lmtp_message_receive(struct lmtp *lmtp)
{
    int64_t started_ms = base_now_ms();
    struct message_builder *builder OD_CLEANUP(message_builder_free) = begin_message(lmtp->config);
    lmtp_stream_reply(lmtp->stream, "354 end data with <CR><LF>.<CR><LF>");
    enum lmtp_read result = lmtp_stream_data(lmtp->stream, lmtp->terms->times.idle,
                                             lmtp->end_ms + lmtp->terms->times.last_data, feed_message, builder);
    if (result == LMTP_READ_TIMEOUT)
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s timeout while reading data", lmtp->host);
    if (result != LMTP_READ_OK)
        return false; /* incomplete without its end mark */
    deliver_and_reply(lmtp, builder, started_ms);
    return true;
}

/* The front sends nothing after the final mark, and closes when its own peer does. */
static bool is_front_gone(void *context)
{
    const struct lmtp *lmtp = context;
    struct pollfd front = {.fd = lmtp->fd, .events = POLLRDHUP};
    return poll(&front, 1, 0) != 0; /* an error counts as closed */
}

static bool parse_digits(const char *text, int64_t *ret)
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 15 || text[length] != '\0')
        return false;
    *ret = strtoll(text, NULL, 10);
    return true;
}

static char **string_field(struct envelope *envelope, const char *name)
{
    return strcmp(name, "SENDER") == 0      ? &envelope->sender
           : strcmp(name, "RECIPIENT") == 0 ? &envelope->recipient
           : strcmp(name, "ORIGINAL") == 0  ? &envelope->original
           : strcmp(name, "QUEUEID") == 0   ? &envelope->queue_id
           : strcmp(name, "LOGIN") == 0     ? &envelope->sasl_user
                                            : NULL;
}

/* False: unknown or invalid parameter. */
static bool parse_parameters(const char *arguments, struct envelope *envelope, int64_t *ret_since)
{
    for (;;) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *value OD_CLEANUP(base_free) = NULL;
        if (!lmtp_command_parameter(&arguments, &name, &value))
            return true;
        char **field = string_field(envelope, name);
        int64_t *number = strcmp(name, "SIZE") == 0 ? &envelope->size : strcmp(name, "SINCE") == 0 ? ret_since : NULL;
        if (field != NULL && lmtp_command_xtext(value)) {
            base_free(field);
            *field = value;
            value = NULL;
        } else if (number == NULL || !parse_digits(value, number)) {
            return false;
        }
    }
}

/* Reads up to the final mark; false: it did not come. */
static bool receive(struct lmtp *lmtp, struct message_builder *builder)
{
    const int64_t until = MIN(lmtp->end_ms + lmtp->terms->times.last_data, base_now_ms() + RECEIVE_MS);
    char line[64];
    for (;;) {
        if (lmtp_stream_line(lmtp->stream, line, sizeof(line), until) != LMTP_READ_OK)
            return false;
        if (strcmp(line, "BDAT 0 LAST") == 0)
            return true;
        int64_t size;
        if (strncmp(line, "BDAT ", 5) != 0 || !parse_digits(line + 5, &size) ||
            lmtp_stream_bytes(lmtp->stream, (size_t)size, until, feed_message, builder) != LMTP_READ_OK)
            return false;
    }
}

static void run_unless_given(struct lmtp *lmtp, struct delivery *delivery, struct report *report)
{
    struct error error;
    delivery_add_time(delivery, PHASE_READ);
    if (report->given) {
        delivery_refuse(delivery, report->outcome, report->text);
    } else if (!deadline_arm(lmtp->config->delivery.deadline, &error)) {
        delivery_refuse(delivery, OUTCOME_TEMPFAIL, error.text);
    } else {
        delivery_begin(delivery, &error);
        run_delivery(lmtp, delivery);
    }
    *report = delivery->replies[0].report;
}

static void reply_to_front(struct lmtp *lmtp, const struct report *report)
{
    char line[1024];
    report_line(report, line, sizeof(line) - 1); /* like report_write() */
    lmtp_stream_reply(lmtp->stream, "250 %d %s", outcome_row(report->outcome)->exit_status, line);
    (void)lmtp_stream_flush(lmtp->stream); /* settled: the reply may be lost */
}

static void deliver_for_front(struct lmtp *lmtp, struct envelope *envelope, struct message_builder *builder,
                              int64_t started_ms)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    struct delivery_recipient recipient;
    struct report report = {.given = false};
    struct error error;
    enum message_result result = message_builder_end(builder, &message, &error);
    if (!envelope_check(envelope, result, message, &error, &report))
        message_free(&message);
    else if (envelope_complete(envelope, message, &report) && is_front_gone(lmtp))
        report_set(&report, OUTCOME_TEMPFAIL, OUTPUT_CUT);
    struct delivery_request request = envelope_request(envelope, message, &recipient);
    request.config = lmtp->config;
    request.sessions = lmtp->cache->sessions;
    request.peer_closed = is_front_gone;
    request.reader = lmtp;
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = started_ms};
    run_unless_given(lmtp, &delivery, &report);
    reply_to_front(lmtp, &report);
    delivery_log(&delivery);
}

void lmtp_deliver(struct lmtp *lmtp, const char *arguments)
{
    struct envelope envelope OD_CLEANUP(envelope_clear) = {.only_login = base_strdup(lmtp->terms->only_login)};
    int64_t now = base_now_ms(), since = now;
    if (!parse_parameters(arguments, &envelope, &since)) {
        lmtp_stream_reply(lmtp->stream, "501 5.5.4 unknown or invalid parameter");
        return;
    }
    if (envelope.only_login != NULL)
        base_free(&envelope.sasl_user); /* an untrusted user may have set it */
    struct message_builder *builder OD_CLEANUP(message_builder_free) = begin_message(lmtp->config);
    /* The deadline applies twice: to opening the ledger, then to the delivery. */
    lmtp_stream_reply(lmtp->stream, "354 %lld", 2 * (long long)lmtp->config->delivery.deadline);
    if (receive(lmtp, builder)) {
        deliver_for_front(lmtp, &envelope, builder, since <= now && since >= now - OLDEST_MS ? since : now);
        lmtp->messages++;
    }
}
