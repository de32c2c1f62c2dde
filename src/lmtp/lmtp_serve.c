/* SPDX-License-Identifier: ISC */

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "lmtp/lmtp_internal.h"

#define LINE_SIZE 4096 /* with its line end */
#define ERRORS_MAX 20  /* refused commands */

/* Grace time of a client when the service stops or others wait. */
#define MOMENT_MS 100
#define EXPECTED_MS 2000 /* if invited to begin a transaction */
#define POLLS 10         /* checks in that time: others may be served */

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

/* False: the session is over. */
static bool do_data(struct lmtp *lmtp)
{
    if (lmtp->transaction.recipients->len == 0) {
        reply_error(lmtp, "503 5.5.1 no valid recipients");
        return true;
    }
    if (!lmtp_message_receive(lmtp))
        return false;
    lmtp->messages++;
    lmtp->expected = false;
    lmtp_transaction_reset(&lmtp->transaction);
    return true;
}

/* False: the session is over. */
static bool do_line(struct lmtp *lmtp, const char *line)
{
    char *config OD_CLEANUP(base_free) = NULL;
    const char *arguments;
    enum lmtp_verb verb = lmtp_command_verb(line, &arguments);
    switch (verb) {
    case LMTP_LHLO:
        do_lhlo(lmtp, arguments);
        return true;
    case LMTP_MAIL:
        if (lmtp->greeted)
            lmtp->errors += !lmtp_transaction_mail(lmtp, arguments);
        else
            reply_error(lmtp, "503 5.5.1 send LHLO first");
        return true;
    case LMTP_RCPT:
        lmtp->errors += !lmtp_transaction_rcpt(lmtp, arguments);
        return true;
    case LMTP_DATA:
        return do_data(lmtp);
    case LMTP_XFORWARD:
        lmtp_transaction_xforward(lmtp, arguments);
        lmtp->expected = true;
        return true;
    case LMTP_RSET:
    case LMTP_NOOP:
        if (verb == LMTP_RSET)
            lmtp_transaction_reset(&lmtp->transaction);
        lmtp_stream_reply(lmtp->stream, "250 2.0.0 ok");
        lmtp->expected = true;
        return true;
    case LMTP_VRFY:
        lmtp_stream_reply(lmtp->stream, "252 2.1.5 send some mail and see");
        return true;
    case LMTP_XDELIVER:
        if (!lmtp->terms->is_local || lmtp->transaction.sender != NULL)
            break;
        lmtp_deliver(lmtp, arguments);
        return false;
    case LMTP_XCONFIG:
        if (!lmtp->terms->is_local || lmtp->terms->only_login != NULL)
            break;
        config = config_digest(lmtp->config); /* for `check` */
        lmtp_stream_reply(lmtp->stream, strcmp(arguments, config) == 0 ? "250 2.0.0 the same" : LMTP_OTHER_CONFIG);
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

static bool is_readable(int fd)
{
    struct pollfd waited = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&waited, 1, 0) > 0;
}

/* Why to send 421 between transactions; NULL: do not. */
static const char *reason_to_leave(const struct lmtp *lmtp)
{
    const struct lmtp_terms *terms = lmtp->terms;
    if (is_readable(terms->stop_fd))
        return "4.3.2 the service is stopping or restarting, open another connection";
    if (is_readable(terms->others_fd) && terms->all_busy(terms->context))
        return "4.3.2 others are waiting, open another connection";
    return NULL;
}

static bool dismiss(struct lmtp *lmtp, const char *reason)
{
    lmtp_stream_reply(lmtp->stream, "421 %s", reason);
    return false;
}

/* Like lmtp_stream_wait(), but expires IMAP sessions. */
static enum lmtp_wait rest(struct lmtp *lmtp, int stop_fd, int others_fd, int64_t until_ms)
{
    enum lmtp_wait result = lmtp_stream_wait(lmtp->stream, stop_fd, others_fd, 0);
    int64_t next_ms = 0;
    while (result == LMTP_WAIT_TIMEOUT && base_now_ms() < until_ms) {
        if (base_now_ms() >= next_ms)
            next_ms = sessions_expire(lmtp->cache->sessions);
        result = lmtp_stream_wait(lmtp->stream, stop_fd, others_fd, MIN(next_ms, until_ms));
    }
    return result;
}

/* Waits for the next command; false: the session is over. A new or invited client may still send MAIL, which 421 would
 * defer. */
static bool await_line(struct lmtp *lmtp, int64_t until_ms)
{
    bool begun = lmtp->transaction.sender != NULL;
    int stop_fd = begun ? -1 : lmtp->terms->stop_fd, others_fd = begun ? -1 : lmtp->terms->others_fd;
    int64_t moment_ms = lmtp->messages == 0 || lmtp->expected ? EXPECTED_MS : MOMENT_MS;
    while (base_now_ms() < until_ms && rest(lmtp, stop_fd, others_fd, until_ms) == LMTP_WAIT_EVENT) {
        const char *reason = reason_to_leave(lmtp);
        for (int polls = 0; polls < POLLS; polls++) {
            int64_t next_ms = base_now_ms() + moment_ms / POLLS;
            if (lmtp_stream_wait(lmtp->stream, -1, -1, MIN(next_ms, until_ms)) == LMTP_WAIT_INPUT)
                return true;
            if (reason == NULL)
                break;
            reason = reason_to_leave(lmtp);
        }
        if (reason != NULL)
            return dismiss(lmtp, reason);
    }
    return true; /* lmtp_stream_line() reports the timeout */
}

/* Why this command, between transactions, gets 421; NULL: serve it. */
static const char *reason_to_end(struct lmtp *lmtp, const char *line)
{
    const char *arguments;
    enum lmtp_verb verb = lmtp_command_verb(line, &arguments);
    bool asks = verb == LMTP_RSET || verb == LMTP_NOOP;
    if (verb == LMTP_QUIT)
        return NULL;
    if (base_now_ms() >= lmtp->end_ms)
        return "4.3.2 session time limit reached, open another";
    if (lmtp->messages > 0 && (asks || (!lmtp->expected && is_readable(lmtp->terms->stop_fd))))
        return reason_to_leave(lmtp);
    return NULL;
}

static bool serve_line(struct lmtp *lmtp)
{
    char line[LINE_SIZE];
    int64_t until = MIN(base_now_ms() + lmtp->terms->times.idle, lmtp->end_ms);
    if (lmtp->errors > ERRORS_MAX) {
        lmtp_stream_reply(lmtp->stream, "421 4.7.0 %s too many errors", lmtp->host);
        return false;
    }
    if (!await_line(lmtp, until))
        return false;
    switch (lmtp_stream_line(lmtp->stream, line, sizeof(line), until)) {
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
    const char *reason = lmtp->transaction.sender == NULL ? reason_to_end(lmtp, line) : NULL;
    return reason == NULL ? do_line(lmtp, line) : dismiss(lmtp, reason);
}

struct lmtp_cache lmtp_cache_new(const struct config *config)
{
    return (struct lmtp_cache){.sessions = sessions_new(config, 1)};
}

void lmtp_cache_clear(struct lmtp_cache *cache)
{
    sessions_free(&cache->sessions);
    ledger_close(&cache->ledger);
    decoding_end();
}

void lmtp_serve(const struct config *config, int in, int out, const struct lmtp_terms *terms, struct lmtp_cache *cache)
{
    const int64_t end_ms = base_now_ms() + terms->times.session;
    struct lmtp lmtp = {
        .config = config,
        .terms = terms,
        .cache = cache,
        .stream = lmtp_stream_new(in, out, end_ms + terms->times.last_data),
        .fd = in,
        .end_ms = end_ms,
        .transaction = lmtp_transaction_new(),
    };
    if (gethostname(lmtp.host, sizeof(lmtp.host) - 1) != 0)
        strcpy(lmtp.host, "localhost");
    lmtp_stream_reply(lmtp.stream, "220 %s oncedrop LMTP", lmtp.host);
    while (serve_line(&lmtp))
        ;
    (void)lmtp_stream_flush(lmtp.stream);
    lmtp_transaction_clear(&lmtp.transaction);
    lmtp_stream_free(&lmtp.stream);
}

void lmtp_end_by_signal(int signal)
{
    delivery_log_end(signal);
    _exit(75);
}

void lmtp_refuse(int out, const char *text)
{
    struct lmtp_stream *stream = lmtp_stream_new(-1, out, INT64_MAX);
    lmtp_stream_reply(stream, "421 %s", text);
    (void)lmtp_stream_flush(stream);
    lmtp_stream_free(&stream);
}
