/* SPDX-License-Identifier: ISC
 *
 * Shared by the files of a session. */
#ifndef ONCEDROP_LMTP_MESSAGE_H
#define ONCEDROP_LMTP_MESSAGE_H

#include "lmtp/lmtp.h"
#include "lmtp/lmtp_transaction.h"
#include "message/message_builder.h"

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

/* For a message from a peer or from the front. */
struct message_builder *lmtp_message_new(const struct config *config) OD_MUST;

/* An lmtp_feed; context: the builder. If the bytes cannot be taken, the message is still read to its end, and
 * message_builder_end reports it. */
void lmtp_message_feed(void *context, const void *bytes, size_t size);

/* Reads the message after DATA, for a transaction with recipients; delivers it and replies for each of them. False: the
 * session is over. */
bool lmtp_message_receive(struct lmtp *lmtp) OD_MUST;

/* Opens the session with the database, if there is none. */
bool lmtp_open_ledger(struct lmtp *lmtp, const char *queue_id, struct fault *fault) OD_MUST;

/* Makes a delivery that is complete except for its ledger: opens the session with the database, if there is none. From
 * then on there is no deadline. */
void lmtp_run(struct lmtp *lmtp, struct delivery *delivery);

#endif
