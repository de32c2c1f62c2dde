/* SPDX-License-Identifier: ISC
 *
 * Shared by the files of a session. */
#ifndef ONCEDROP_LMTP_SESSION_H
#define ONCEDROP_LMTP_SESSION_H

#include "lmtp/lmtp.h"
#include "lmtp/lmtp_transaction.h"

struct lmtp {
    const struct config *config;
    const struct lmtp_terms *terms;
    struct lmtp_kept *kept;
    struct lmtp_stream *stream;
    char host[256];
    int64_t end_ms;    /* of the session, by base_now_ms() */
    uint64_t messages; /* received */
    int errors;
    int fd; /* of the connection; what the client sends */
    bool greeted;
    bool expected; /* the client was told, by an answer to RSET, NOOP or XFORWARD, that it may begin a transaction */
    struct lmtp_transaction transaction;
};

/* Reads the message after DATA, for a transaction with recipients; delivers it and replies for each of them. False: the
 * session is over. */
bool lmtp_message_receive(struct lmtp *lmtp) OD_MUST;

/* Makes a delivery that is complete except for its ledger: opens the session with the database, if there is none. From
 * then on there is no deadline. */
void lmtp_run(struct lmtp *lmtp, struct delivery *delivery);

#endif
