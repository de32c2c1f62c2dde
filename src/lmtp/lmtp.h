/* SPDX-License-Identifier: ISC
 *
 * An LMTP session (RFC 2033). */
#ifndef ONCEDROP_LMTP_H
#define ONCEDROP_LMTP_H

#include "delivery/delivery.h"

#define LMTP_SESSION_MS 600000 /* spawn(8) kills us after 1000 s */

/* In milliseconds. */
struct lmtp_times {
    int64_t session;   /* no new transaction afterwards */
    int64_t last_data; /* added for a message already begun */
    int64_t idle;      /* per wait (RFC 5321, 4.5.3.2.7) */
};
#define LMTP_TIMES ((struct lmtp_times){.session = LMTP_SESSION_MS, .last_data = 100000, .idle = 300000})

#define LMTP_LINE_MAX 4096                    /* with its line end */
#define LMTP_OTHER_CONFIG "550 5.0.0 another" /* to XCONFIG, for trusted local clients */
#define LMTP_ERRORS_MAX 20                    /* refused commands */

/* What the next connection reuses. The decoder's process is global (decode/decoding.h). */
struct lmtp_cache {
    struct ledger *ledger;     /* NULL before the first message */
    struct sessions *sessions; /* IMAP */
};

struct lmtp_cache lmtp_cache_new(const struct config *config) OD_MUST;

/* Ends all sessions and the decoder's process. */
void lmtp_cache_clear(struct lmtp_cache *cache);

/* Of one connection. */
struct lmtp_terms {
    struct lmtp_times times;
    const char *only_login;                /* see delivery.h; NULL: a trusted client */
    bool is_local;                         /* unix socket: accepts XDELIVER */
    int stop_fd;                           /* readable: no new transaction; -1: none */
    int others_fd;                         /* readable: other clients wait; -1: none */
    bool (*all_busy)(const void *context); /* all workers; needed with others_fd */
    const void *context;
};

/* Standard input, with one client. */
#define LMTP_ALONE ((struct lmtp_terms){.times = LMTP_TIMES, .stop_fd = -1, .others_fd = -1})

/* Serves until QUIT, end of input, or a limit.
 *
 * A client unresponsive between transactions soon gets 421 if the service stops, or if all workers are busy and others
 * wait. Postfix probes a reused connection by RSET: after 421 to RSET it reconnects; 421 to MAIL defers the message,
 * and is avoided. */
void lmtp_serve(const struct config *config, int in, int out, const struct lmtp_terms *terms, struct lmtp_cache *cache);

/* For deadline_install(): logs deliveries in flight, and ends the process. The peer defers recipients without a
 * reply. */
void lmtp_end_by_signal(int signal);

/* Greets with 421 and this text. */
void lmtp_refuse(int out, const char *text);

#endif
