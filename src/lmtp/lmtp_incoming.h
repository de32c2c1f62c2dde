/* SPDX-License-Identifier: ISC
 *
 * A message while it is being received, from a peer or from the front. */
#ifndef ONCEDROP_LMTP_INCOMING_H
#define ONCEDROP_LMTP_INCOMING_H

#include "base/config.h"
#include "message/message_builder.h"

struct lmtp_incoming {
    struct message_builder *builder;
    bool failed; /* it cannot be taken, but is read to its end */
    struct fault fault;
};

/* Begins one, to be freed with lmtp_incoming_clear. */
struct lmtp_incoming lmtp_incoming_begin(const struct config *config) OD_MUST;

/* Takes its next bytes (for lmtp_stream.h); context is the struct lmtp_incoming. False: it cannot be taken. */
bool lmtp_incoming_feed(void *context, const void *bytes, size_t size) OD_MUST;

/* Makes the message of what came. Anything but MESSAGE_OK: incoming->fault says why; *ret is untouched. */
enum message_result lmtp_incoming_end(struct lmtp_incoming *incoming, struct message **ret) OD_MUST;

void lmtp_incoming_clear(struct lmtp_incoming *incoming); /* for OD_CLEANUP */

#endif
