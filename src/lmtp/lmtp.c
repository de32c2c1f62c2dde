/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/log.h"
#include "delivery/delivery.h"
#include "delivery/received.h"
#include "lmtp/lmtp_command.h"
#include "lmtp/lmtp_stream.h"
#include "message/message_builder.h"
#include "route/address.h"

/* One of the transaction. */
struct recipient {
    char *path;                 /* as RCPT gives it, ... */
    struct address address;     /* ... and taken apart */
    char *original;             /* ORCPT, or NULL */
};

struct lmtp {
    const struct config *config;
    struct lmtp_stream *stream;
    struct ledger *ledger;      /* opened with the first message */
    struct sessions *sessions;
    char host[256];
    struct lmtp_times times;
    int64_t end_ms;             /* of the session */
    int errors;
    bool greeted;
    /* the transaction */
    char *sender;               /* NULL before MAIL */
    GArray *recipients;         /* of struct recipient */
    char *queue_id;             /* XFORWARD IDENT; for the next message */
};

static void recipient_clear(struct recipient *recipient)
{
    base_free(&recipient->path);
    address_clear(&recipient->address);
    base_free(&recipient->original);
}

static void recipient_clear_item(gpointer item)
{
    recipient_clear(item);
}

static void reset(struct lmtp *lmtp)
{
    base_free(&lmtp->sender);
    base_free(&lmtp->queue_id);
    g_array_set_size(lmtp->recipients, 0);
}

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
    reset(lmtp);
    lmtp->greeted = true;
    lmtp_stream_reply(lmtp->stream, "250-%s", lmtp->host);
    lmtp_stream_reply(lmtp->stream, "250-PIPELINING");
    lmtp_stream_reply(lmtp->stream, "250-8BITMIME");
    lmtp_stream_reply(lmtp->stream, "250-SMTPUTF8");
    lmtp_stream_reply(lmtp->stream, "250-SIZE %lld", (long long)lmtp->config->delivery.size_limit);
    lmtp_stream_reply(lmtp->stream, "250-XFORWARD NAME ADDR PORT PROTO HELO IDENT SOURCE");
    lmtp_stream_reply(lmtp->stream, "250 ENHANCEDSTATUSCODES");
}

/* SIZE=digits (RFC 1870) or BODY=7BIT|8BITMIME (RFC 6152): what was announced; nothing is known of other names. */
static bool value_is_valid(const char *name, const char *value)
{
    if (g_ascii_strcasecmp(name, "SIZE") == 0)
        return *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (g_ascii_strcasecmp(name, "BODY") == 0)
        return g_ascii_strcasecmp(value, "7BIT") == 0 || g_ascii_strcasecmp(value, "8BITMIME") == 0;
    return true;
}

static bool is_known(const char *const *known, const char *name)
{
    while (*known != NULL && g_ascii_strcasecmp(name, *known) != 0)
        known++;
    return *known != NULL;
}

/* Goes through the parameters of MAIL or RCPT; what it cannot go along with is replied to. *ret_orcpt is the address that
 * ORCPT gives, a new string, or left as it is. */
static bool check_parameters(struct lmtp *lmtp, const char *parameters, const char *const *known, char **ret_orcpt)
{
    int64_t limit = lmtp->config->delivery.size_limit;
    for (;;) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *value OD_CLEANUP(base_free) = NULL;
        if (!lmtp_command_parameter(&parameters, &name, &value))
            return true;
        if (!is_known(known, name)) {
            reply_error(lmtp, "555 5.5.4 parameter not known");
            return false;
        }
        if (!value_is_valid(name, value)) {
            reply_error(lmtp, "501 5.5.4 the parameter's value is none");
            return false;
        }
        if (g_ascii_strcasecmp(name, "ORCPT") == 0) {
            base_free(ret_orcpt);
            *ret_orcpt = lmtp_command_orcpt(value);
        }
        if (limit > 0 && g_ascii_strcasecmp(name, "SIZE") == 0 && g_ascii_strtoll(value, NULL, 10) > limit) {
            lmtp_stream_reply(lmtp->stream, "552 5.3.4 message is larger than delivery.size_limit (%lld bytes)",
                              (long long)limit);
            return false;
        }
    }
}

/* Those that we announced, and those that change nothing for us. */
static const char *const mail_parameters[] = {"SIZE", "BODY", "SMTPUTF8", "AUTH", "RET", "ENVID", NULL};
static const char *const rcpt_parameters[] = {"NOTIFY", "ORCPT", NULL};

static void do_mail(struct lmtp *lmtp, const char *arguments)
{
    char *path OD_CLEANUP(base_free) = NULL, *orcpt OD_CLEANUP(base_free) = NULL;
    const char *parameters;
    if (!lmtp->greeted || lmtp->sender != NULL) {
        reply_error(lmtp, lmtp->greeted ? "503 5.5.1 nested MAIL" : "503 5.5.1 say LHLO first");
        return;
    }
    if (!lmtp_command_path(arguments, "FROM:", &path, &parameters)) {
        reply_error(lmtp, "501 5.5.4 syntax: MAIL FROM:<address>");
        return;
    }
    if (!check_parameters(lmtp, parameters, mail_parameters, &orcpt))
        return;
    lmtp->sender = path;
    path = NULL;
    lmtp_stream_reply(lmtp->stream, "250 2.1.0 ok");
}

static void do_rcpt(struct lmtp *lmtp, const char *arguments)
{
    struct recipient recipient OD_CLEANUP(recipient_clear) = {.path = NULL};
    struct fault fault;
    const char *parameters;
    if (lmtp->sender == NULL) {
        reply_error(lmtp, "503 5.5.1 need MAIL before RCPT");
    } else if (!lmtp_command_path(arguments, "TO:", &recipient.path, &parameters)) {
        reply_error(lmtp, "501 5.5.4 syntax: RCPT TO:<address>");
    } else if (!address_parse(recipient.path, &recipient.address, &fault)) {
        reply_error(lmtp, "501 5.1.3 not an address");
    } else if (!check_parameters(lmtp, parameters, rcpt_parameters, &recipient.original)) {
        return;
    } else if (lmtp->recipients->len >= LMTP_RECIPIENTS_MAX) {
        lmtp_stream_reply(lmtp->stream, "452 4.5.3 too many recipients");
    } else {
        g_array_append_val(lmtp->recipients, recipient);
        memset(&recipient, 0, sizeof(recipient));
        lmtp_stream_reply(lmtp->stream, "250 2.1.5 ok");
    }
}

static void do_xforward(struct lmtp *lmtp, const char *arguments)
{
    for (;;) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *value OD_CLEANUP(base_free) = NULL;
        if (!lmtp_command_parameter(&arguments, &name, &value))
            break;
        if (g_ascii_strcasecmp(name, "IDENT") != 0 || !lmtp_command_xtext(value))
            continue;
        base_free(&lmtp->queue_id);
        if (g_ascii_strcasecmp(value, "[UNAVAILABLE]") != 0 && *value != '\0' && g_utf8_validate(value, -1, NULL)) {
            lmtp->queue_id = value;
            value = NULL;
        }
    }
    lmtp_stream_reply(lmtp->stream, "250 2.0.0 ok");
}

/* The message under DATA. */
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

static void reply_all(struct lmtp *lmtp, enum outcome outcome, const char *text)
{
    struct report report;
    char line[1024];
    report_set(&report, outcome, "%s", text);
    for (guint i = 0; i < lmtp->recipients->len; i++)
        lmtp_stream_reply(lmtp->stream, "%d %s", outcome_row(outcome)->lmtp, report_line(&report, line, sizeof(line)));
}

/* All recipients under one lock; a reply for each, in their order (RFC 2033, 4.2). */
static void deliver_and_reply(struct lmtp *lmtp, const struct message *message, int64_t started_ms)
{
    guint count = lmtp->recipients->len;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = base_alloc(count * sizeof(*recipients));
    char *original OD_CLEANUP(base_free) = count == 1 ? received_original(message) : NULL;
    char line[1024];
    for (guint i = 0; i < count; i++) {
        const struct recipient *recipient = &g_array_index(lmtp->recipients, struct recipient, i);
        recipients[i] = (struct delivery_recipient){
            .address = recipient->path,
            .original = original != NULL ? original : recipient->original,
            .parsed = &recipient->address,
        };
    }
    if (lmtp->queue_id == NULL)
        lmtp->queue_id = received_queue_id(message);
    struct delivery delivery = {
        .config = lmtp->config, .ledger = lmtp->ledger, .sessions = lmtp->sessions, .message = message,
        .sender = lmtp->sender, .queue_id = lmtp->queue_id, .whole = true, .recipients = recipients, .recipient_count = count,
        .started_ms = started_ms, .read_ms = base_now_ms() - started_ms,
    };
    delivery_run(&delivery);
    deadline_disarm();
    for (guint i = 0; i < count; i++)
        lmtp_stream_reply(lmtp->stream, "%d %s", outcome_row(recipients[i].report.outcome)->lmtp,
                          report_line(&recipients[i].report, line, sizeof(line)));
    (void)lmtp_stream_flush(lmtp->stream);  /* settled: whether the peer still listens changes nothing */
    delivery_log(&delivery);
    delivery_clear(&delivery);
}

/* What was read under DATA becomes a message, or a reply for every recipient that says why not. */
static void deliver_incoming(struct lmtp *lmtp, struct incoming *incoming, int64_t started_ms)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    struct fault fault = incoming->fault;
    enum message_result result = MESSAGE_TROUBLE;
    if (!incoming->failed)
        result = message_builder_end(incoming->builder, &message, &fault);
    if (result == MESSAGE_OK && lmtp->ledger == NULL)
        lmtp->ledger = ledger_open(lmtp->config, lmtp->queue_id, &fault);
    if (result == MESSAGE_TOO_LARGE)
        reply_all(lmtp, OUTCOME_TOO_LARGE, fault.text);
    else if (result != MESSAGE_OK)
        reply_all(lmtp, OUTCOME_TROUBLE, fault.text);
    else if (lmtp->ledger == NULL)
        reply_all(lmtp, OUTCOME_DATABASE, fault.text);
    else
        deliver_and_reply(lmtp, message, started_ms);
}

/* False: the session is over. */
static bool do_data(struct lmtp *lmtp)
{
    if (lmtp->recipients->len == 0) {
        reply_error(lmtp, "503 5.5.1 no valid recipients");
        return true;
    }
    int64_t started_ms = base_now_ms();
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(
        (size_t)lmtp->config->delivery.size_limit, (const char *const *)lmtp->config->identity.ignore);
    struct incoming incoming = {.builder = builder};
    lmtp_stream_reply(lmtp->stream, "354 go on, end with a line of one dot");
    enum lmtp_read result = lmtp_stream_data(lmtp->stream, lmtp->times.idle,
                                             lmtp->end_ms + lmtp->times.last_data, feed_incoming, &incoming);
    if (result == LMTP_READ_TIMEOUT)
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s no more data came", lmtp->host);
    if (result != LMTP_READ_OK)
        return false;   /* without its end a message is none */
    deliver_incoming(lmtp, &incoming, started_ms);
    reset(lmtp);
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
        do_rcpt(lmtp, arguments);
        return true;
    case LMTP_DATA:
        return do_data(lmtp);
    case LMTP_XFORWARD:
        do_xforward(lmtp, arguments);
        return true;
    case LMTP_RSET:
        reset(lmtp);
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
        reply_error(lmtp, "500 5.5.1 this is LMTP: say LHLO");
        return true;
    case LMTP_UNKNOWN:
        break;
    }
    reply_error(lmtp, "500 5.5.1 command not known");
    return true;
}

/* True while there may be another command. */
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
        lmtp_stream_reply(lmtp->stream, "421 4.4.2 %s nothing came for too long", lmtp->host);
        return false;
    case LMTP_READ_END:
        return false;
    }
    if (lmtp->sender == NULL && base_now_ms() >= lmtp->end_ms) {
        lmtp_stream_reply(lmtp->stream, "421 4.3.2 %s this session is old, open another", lmtp->host);
        return false;
    }
    return do_line(lmtp, line);
}

void lmtp_serve(const struct config *config, int in, int out, struct lmtp_times times)
{
    struct lmtp lmtp = {
        .config = config, .stream = lmtp_stream_new(in, out), .sessions = sessions_new(config, SESSIONS_FEW),
        .recipients = g_array_new(FALSE, FALSE, sizeof(struct recipient)),
        .times = times, .end_ms = base_now_ms() + times.session,
    };
    g_array_set_clear_func(lmtp.recipients, recipient_clear_item);
    if (gethostname(lmtp.host, sizeof(lmtp.host) - 1) != 0)
        strcpy(lmtp.host, "localhost");
    lmtp_stream_reply(lmtp.stream, "220 %s oncedrop LMTP", lmtp.host);
    while (serve_line(&lmtp))
        ;
    (void)lmtp_stream_flush(lmtp.stream);
    reset(&lmtp);
    g_array_unref(lmtp.recipients);
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
