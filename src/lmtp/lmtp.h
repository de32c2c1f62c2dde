/* SPDX-License-Identifier: ISC
 *
 * An LMTP session (RFC 2033): many messages over one connection; the database and IMAP sessions are kept. */
#ifndef ONCEDROP_LMTP_H
#define ONCEDROP_LMTP_H

#include "base/config.h"

#define LMTP_SESSION_MS 600000 /* no new transaction after this time: spawn(8) kills us after 1000 s */

/* How long a session may take, in milliseconds. */
struct lmtp_times {
    int64_t session;   /* no new transaction after this time */
    int64_t last_data; /* additional time to receive a message that was begun before */
    int64_t idle;      /* for each wait (RFC 5321, 4.5.3.2.7) */
};
#define LMTP_TIMES ((struct lmtp_times){.session = LMTP_SESSION_MS, .last_data = 100000, .idle = 300000})

#define LMTP_LINE_MAX 4096 /* longest command, including its line end */
#define LMTP_ERRORS_MAX 20 /* commands refused before the session ends */

/* Serves until QUIT, the end of input, or a limit. Every command and message gets its reply; there is no result. */
void lmtp_serve(const struct config *config, int in, int out, struct lmtp_times times);

/* Greets with 421 and this text, if the session cannot be served. */
void lmtp_refuse(int out, const char *text);

#endif
