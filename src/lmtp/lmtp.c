/* SPDX-License-Identifier: ISC
 *
 * The commands of a session, and the delivery of a message. */
#include "lmtp/lmtp.h"

#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "delivery/delivery.h"
#include "delivery/received.h"
#include "lmtp/lmtp_command.h"
#include "lmtp/lmtp_stream.h"
#include "lmtp/lmtp_transaction.h"
#include "message/message_builder.h"

struct lmtp {
    const struct config *config;
    struct lmtp_stream *stream;
    struct ledger *ledger; /* opened for the first message */
    struct sessions *sessions;
    char host[256];
    struct lmtp_times times;
    int64_t end_ms; /* of the session */
    int errors;
    bool greeted;
    struct lmtp_transaction transaction;
};

static void reply_error(struct lmtp *lmtp, const char *reply)
{
    lmtp->errors++;
    lmtp_stream_reply(lmtp->stream, "%s", reply);
}

static void do_lhlo(struct lmtp *lmtp, const char *arguments)
{
    if (*arguments == '\0') {
        reply_error(lmtp, "501 5.5.4 syntax: LHLO hostname");
        return;
    }
    lmtp_transaction_reset(&lmtp->transaction);
    lmtp->greeted = true;
    lmtp_stream_reply(lmtp->stream, "250-%s", lmtp->host);
    lmtp_stream_reply(lmtp->stream, "250-PIPELINING");
    lmtp_stream_reply(lmtp->stream, "250-8BITMIME");
    lmtp_stream_reply(lmtp->stream, "250-SMTPUTF8");
    lmtp_stream_reply(lmtp->stream, "250-SIZE %lld", (long long)lmtp->config->delivery.size_limit);
    lmtp_stream_reply(lmtp->stream, "250-XFORWARD NAME ADDR PORT PROTO HELO IDENT SOURCE");
    lmtp_stream_reply(lmtp->stream, "250 ENHANCEDSTATUSCODES");
}

static void do_mail(struct lmtp *lmtp, const char *arguments)
{
    if (!lmtp->greeted)
        reply_error(lmtp, "503 5.5.1 send LHLO first");
    else
        lmtp->errors += !lmtp_transaction_mail(&lmtp->transaction, arguments);
}

/* The message being read after DATA. */
struct incoming {
    struct message_builder *builder;
    bool failed;
    struct fault fault;
};

static bool feed_incoming(void *context, const void *bytes, size_t size)
{
    struct incoming *incoming = context;
    if (!incoming->failed)
        incoming->failed = !message_builder_feed(incoming->builder, bytes, size, &incoming->fault);
    return !incoming->failed;
}

static void run(struct lmtp *lmtp, struct delivery *delivery)
{
    delivery->ledger = lmtp->ledger;
    delivery_run(delivery);
    deadline_disarm();
}

static void reply(struct lmtp *lmtp, const struct delivery *delivery)
{
    char line[1024];
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        const struct report *report = &delivery->recipients[i].report;
        lmtp_stream_reply(lmtp->stream, "%d %s", outcome_row(report->outcome)->lmtp,
                          report_line(report, line, sizeof(line)));
    }
    (void)lmtp_stream_flush(lmtp->stream); /* settled: whether the peer still reads this does not matter */
}

/* The recipients in the form of delivery_run. original: the address before aliases, found in the message, of the only
 * recipient; or NULL. */
static struct delivery_recipient *list_recipients(const struct lmtp_transaction *transaction, const char *original)
{
    guint count = transaction->recipients->len;
    struct delivery_recipient *recipients = base_alloc(count * sizeof(*recipients));
    for (guint i = 0; i < count; i++) {
        const struct lmtp_recipient *recipient = lmtp_transaction_recipient(transaction, i);
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
    struct fault fault;
    int64_t queued_at = 0;
    char *original OD_CLEANUP(base_free) = message != NULL && count == 1 ? received_original(message) : NULL;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = list_recipients(transaction, original);
    if (message != NULL)
        received_queue(message, &transaction->queue_id, &queued_at);
    struct delivery delivery = {
        .config = lmtp->config,
        .sessions = lmtp->sessions,
        .message = message,
        .sender = transaction->sender,
        .queue_id = transaction->queue_id,
        .queued_at = queued_at,
        .whole = true,
        .recipients = recipients,
        .recipient_count = count,
        .started_ms = started_ms,
    };
    delivery_spent(&delivery, PHASE_READ);
    if (message == NULL)
        delivery_refuse(&delivery, refused->outcome, refused->text);
    else if (lmtp->ledger == NULL && (lmtp->ledger = ledger_open(lmtp->config, delivery.queue_id, &fault)) == NULL)
        delivery_refuse(&delivery, OUTCOME_DATABASE, fault.text);
    else
        run(lmtp, &delivery);
    reply(lmtp, &delivery);
    delivery_log(&delivery);
    delivery_clear(&delivery);
}

/* Makes a message of what was read after DATA, or sends every recipient the reason why not. */
static void deliver_incoming(struct lmtp *lmtp, struct incoming *incoming, int64_t started_ms)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    struct fault fault = incoming->fault;
    struct report refused = {.given = false};
    enum message_result result = MESSAGE_TROUBLE;
    if (!incoming->failed)
        result = message_builder_end(incoming->builder, &message, &fault);
    if (result != MESSAGE_OK)
        report_set(&refused, result == MESSAGE_TOO_LARGE ? OUTCOME_TOO_LARGE : OUTCOME_TROUBLE, "%s", fault.text);
    deliver_and_reply(lmtp, message, started_ms, &refused);
}

/* False: the session is over. */
static bool do_data(struct lmtp *lmtp)
{
    if (lmtp->transaction.recipients->len == 0) {
        reply_error(lmtp, "503 5.5.1 no valid recipients");
        return true;
    }
    int64_t started_ms = base_now_ms();
    struct message_builder *builder OD_CLEANUP(message_builder_free) =
        message_builder_new((size_t)lmtp->config->delivery.size_limit,
                            (const char *const *)lmtp->config->identity.ignore);
    struct incoming incoming = {.builder = builder};
    lmtp_stream_reply(lmtp->stream, "354 end data with <CR><LF>.<CR><LF>");
    enum lmtp_read result = lmtp_stream_data(lmtp->stream, lmtp->times.idle, lmtp->end_ms + lmtp->times.last_data,
                                             feed_incoming, &incoming);
    if (result == LMTP_READ_TIMEOUT)
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s timeout while reading data", lmtp->host);
    if (result != LMTP_READ_OK)
        return false; /* without its end mark the message is void */
    deliver_incoming(lmtp, &incoming, started_ms);
    lmtp_transaction_reset(&lmtp->transaction);
    return true;
}

static bool do_line(struct lmtp *lmtp, const char *line)
{
    const char *arguments;
    switch (lmtp_command_verb(line, &arguments)) {
    case LMTP_LHLO:
        do_lhlo(lmtp, arguments);
        return true;
    case LMTP_MAIL:
        do_mail(lmtp, arguments);
        return true;
    case LMTP_RCPT:
        lmtp->errors += !lmtp_transaction_rcpt(&lmtp->transaction, arguments);
        return true;
    case LMTP_DATA:
        return do_data(lmtp);
    case LMTP_XFORWARD:
        lmtp_transaction_xforward(&lmtp->transaction, arguments);
        return true;
    case LMTP_RSET:
        lmtp_transaction_reset(&lmtp->transaction);
        lmtp_stream_reply(lmtp->stream, "250 2.0.0 ok");
        return true;
    case LMTP_NOOP:
        lmtp_stream_reply(lmtp->stream, "250 2.0.0 ok");
        return true;
    case LMTP_VRFY:
        lmtp_stream_reply(lmtp->stream, "252 2.1.5 send some mail and see");
        return true;
    case LMTP_QUIT:
        lmtp_stream_reply(lmtp->stream, "221 2.0.0 %s bye", lmtp->host);
        return false;
    case LMTP_HELO:
        reply_error(lmtp, "500 5.5.1 this is LMTP: send LHLO");
        return true;
    case LMTP_UNKNOWN:
        break;
    }
    reply_error(lmtp, "500 5.5.1 unknown command");
    return true;
}

static int64_t expire_sessions(void *sessions)
{
    return sessions_expire(sessions);
}

/* True as long as there may be another command. */
static bool serve_line(struct lmtp *lmtp)
{
    char line[LMTP_LINE_MAX];
    int64_t until = base_now_ms() + lmtp->times.idle;
    if (lmtp->errors > LMTP_ERRORS_MAX) {
        lmtp_stream_reply(lmtp->stream, "421 4.7.0 %s too many errors", lmtp->host);
        return false;
    }
    switch (lmtp_stream_line(lmtp->stream, line, sizeof(line), until < lmtp->end_ms ? until : lmtp->end_ms)) {
    case LMTP_READ_OK:
        break;
    case LMTP_READ_TOO_LONG:
        reply_error(lmtp, "500 5.5.2 line too long");
        return true;
    case LMTP_READ_TIMEOUT:
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s idle for too long", lmtp->host);
        return false;
    case LMTP_READ_END:
        return false;
    }
    if (lmtp->transaction.sender == NULL && base_now_ms() >= lmtp->end_ms) {
        lmtp_stream_reply(lmtp->stream, "421 4.3.2 %s session time limit reached, open another", lmtp->host);
        return false;
    }
    return do_line(lmtp, line);
}

void lmtp_serve(const struct config *config, int in, int out, struct lmtp_times times)
{
    struct lmtp_stream *stream = lmtp_stream_new(in, out);
    struct lmtp lmtp = {
        .config = config,
        .stream = stream,
        .sessions = sessions_new(config, 1),
        .times = times,
        .end_ms = base_now_ms() + times.session,
        .transaction = lmtp_transaction_new(stream, config->delivery.size_limit),
    };
    if (gethostname(lmtp.host, sizeof(lmtp.host) - 1) != 0)
        strcpy(lmtp.host, "localhost");
    lmtp_stream_idle(lmtp.stream, expire_sessions, lmtp.sessions);
    lmtp_stream_reply(lmtp.stream, "220 %s oncedrop LMTP", lmtp.host);
    while (serve_line(&lmtp))
        ;
    (void)lmtp_stream_flush(lmtp.stream);
    lmtp_transaction_clear(&lmtp.transaction);
    sessions_free(&lmtp.sessions);
    ledger_close(&lmtp.ledger);
    decoding_end();
    lmtp_stream_free(&lmtp.stream);
}

void lmtp_refuse(int out, const char *text)
{
    struct lmtp_stream *stream = lmtp_stream_new(-1, out);
    lmtp_stream_reply(stream, "421 %s", text);
    (void)lmtp_stream_flush(stream);
    lmtp_stream_free(&stream);
}
