/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LMTP_MESSAGE_H
#define ONCEDROP_LMTP_MESSAGE_H

#include "lmtp/lmtp.h"
#include "lmtp/lmtp_transaction.h"
#include "message/message_builder.h"

struct lmtp {
    const struct config *config;
    const struct lmtp_terms *terms;
    struct lmtp_cache *cache;
    struct lmtp_stream *stream;
    char host[256];
    int64_t end_ms;    /* base_now_ms() */
    uint64_t messages; /* received */
    int errors;
    int fd; /* of the connection, for input */
    bool greeted;
    bool expected; /* our reply to RSET, NOOP or XFORWARD invites a transaction */
    struct lmtp_transaction transaction;
};

struct message_builder *lmtp_message_new(const struct config *config) OD_MUST;

/* An lmtp_feed; context: the builder. message_builder_end() reports errors. */
void lmtp_message_feed(void *context, const void *bytes, size_t size);

/* Reads the message after DATA, delivers it, and replies for each recipient. False: the session is over. */
bool lmtp_message_receive(struct lmtp *lmtp) OD_MUST;

/* Opens the database session unless it is open. */
bool lmtp_open_ledger(struct lmtp *lmtp, const char *queue_id, struct error *error) OD_MUST;

/* Opens the ledger, runs the delivery, and disarms the deadline. */
void lmtp_run(struct lmtp *lmtp, struct delivery *delivery);

#endif
