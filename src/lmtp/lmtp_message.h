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

/* A message while it is being received, from a peer or from the front. */
struct lmtp_incoming {
    struct message_builder *builder;
    bool failed; /* it cannot be taken, but is read to its end */
    struct fault fault;
};

/* Begins one, to be freed with lmtp_incoming_clear. */
struct lmtp_incoming lmtp_incoming_begin(const struct config *config) OD_MUST;

/* Takes its next bytes (an lmtp_feed); context is the struct lmtp_incoming. */
void lmtp_incoming_feed(void *context, const void *bytes, size_t size);

/* Makes the message of what came. Anything but MESSAGE_OK: incoming->fault says why; *ret is untouched. */
enum message_result lmtp_incoming_end(struct lmtp_incoming *incoming, struct message **ret) OD_MUST;

void lmtp_incoming_clear(struct lmtp_incoming *incoming); /* for OD_CLEANUP */

/* Reads the message after DATA, for a transaction with recipients; delivers it and replies for each of them. False: the
 * session is over. */
bool lmtp_message_receive(struct lmtp *lmtp) OD_MUST;

/* Makes a delivery that is complete except for its ledger: opens the session with the database, if there is none. From
 * then on there is no deadline. */
void lmtp_run(struct lmtp *lmtp, struct delivery *delivery);

#endif
