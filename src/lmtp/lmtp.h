/* SPDX-License-Identifier: ISC
 *
 * An LMTP session (RFC 2033): many messages over one connection; the database and IMAP sessions are kept. */
#ifndef ONCEDROP_LMTP_H
#define ONCEDROP_LMTP_H

#include "delivery/delivery.h"

#define LMTP_SESSION_MS 600000 /* no new transaction after this time: spawn(8) kills us after 1000 s */

/* How long a session may take, in milliseconds. */
struct lmtp_times {
    int64_t session;   /* no new transaction after this time */
    int64_t last_data; /* additional time to receive a message that was begun before */
    int64_t idle;      /* for each wait (RFC 5321, 4.5.3.2.7) */
};
#define LMTP_TIMES ((struct lmtp_times){.session = LMTP_SESSION_MS, .last_data = 100000, .idle = 300000})

#define LMTP_LINE_MAX 4096                    /* longest command, including its line end */
#define LMTP_OTHER_CONFIG "550 5.0.0 another" /* to XCONFIG, a local and believed client's question */
#define LMTP_ERRORS_MAX 20                    /* commands refused before the session ends */

/* What lives on from one connection to the next: the session with the database, those with the IMAP server and how far
 * it is trusted, and the process that decodes, which is the program's own (decode/decoding.h). */
struct lmtp_kept {
    struct ledger *ledger;     /* NULL before the first message */
    struct sessions *sessions; /* IMAP */
};

struct lmtp_kept lmtp_kept_new(const struct config *config) OD_MUST;

/* Ends all sessions, and the decoding process. */
void lmtp_kept_clear(struct lmtp_kept *kept);

/* What holds for one connection. */
struct lmtp_terms {
    struct lmtp_times times;
    const char *only_login;                /* see delivery.h; NULL: the client may deliver to everybody */
    bool is_local;                         /* on a unix socket: `deliver` may hand over to us */
    int stop_fd;                           /* readable: no new transaction; -1: none */
    int others_fd;                         /* readable: other clients wait; -1: there are none */
    bool (*all_busy)(const void *context); /* this process and all beside it; needed if there is others_fd */
    const void *context;
};

/* On standard input, with one client. */
#define LMTP_ALONE ((struct lmtp_terms){.times = LMTP_TIMES, .stop_fd = -1, .others_fd = -1})

/* Serves until QUIT, the end of input, or a limit. Every command and message gets its reply; there is no result.
 *
 * A client that is silent between two transactions gets 421 after a moment, if the service stops or all are busy and
 * others wait. A transaction that was begun is finished. Postfix tries a kept connection by RSET before it uses it
 * again, so a 421 in answer to that makes it connect anew, while one in answer to MAIL defers the message: as far as
 * possible, only the former is given. */
void lmtp_serve(const struct config *config, int in, int out, const struct lmtp_terms *terms, struct lmtp_kept *kept);

/* For deadline_install: logs what is broken off, and ends the process. The peer defers recipients that have no reply
 * yet; half a reply would be worse than none. */
void lmtp_end_by_signal(int signal);

/* Greets with 421 and this text, if the session cannot be served. */
void lmtp_refuse(int out, const char *text);

#endif
