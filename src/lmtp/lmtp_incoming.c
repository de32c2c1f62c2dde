/* SPDX-License-Identifier: ISC
 *
 * Feeds the builder until it fails, and keeps the reason. */
#include "lmtp/lmtp_incoming.h"

struct lmtp_incoming lmtp_incoming_begin(const struct config *config)
{
    return (struct lmtp_incoming){.builder = message_builder_new((size_t)config->delivery.size_limit,
                                                                 (const char *const *)config->identity.ignore)};
}

bool lmtp_incoming_feed(void *context, const void *bytes, size_t size)
{
    struct lmtp_incoming *incoming = context;
    if (!incoming->failed)
        incoming->failed = !message_builder_feed(incoming->builder, bytes, size, &incoming->fault);
    return !incoming->failed;
}

enum message_result lmtp_incoming_end(struct lmtp_incoming *incoming, struct message **ret)
{
    return incoming->failed ? MESSAGE_TROUBLE : message_builder_end(incoming->builder, ret, &incoming->fault);
}

void lmtp_incoming_clear(struct lmtp_incoming *incoming)
{
    message_builder_free(&incoming->builder);
}
