/* SPDX-License-Identifier: ISC
 *
 * Builds a message from pieces, for message_read and LMTP's DATA. */
#ifndef ONCEDROP_MESSAGE_BUILDER_H
#define ONCEDROP_MESSAGE_BUILDER_H

#include "message/message.h"

/* ignore must outlive the builder. */
struct message_builder *message_builder_new(size_t size_limit, const char *const *ignore) OD_MUST;

/* Before the first bytes: the input has no mbox From_ line, even if the header looks like one. */
void message_builder_no_from_line(struct message_builder *builder);

/* Adds received bytes, in pieces of any size; drops those beyond the limit. After a failure all later calls fail. */
bool message_builder_feed(struct message_builder *builder, const void *bytes, size_t size, struct error *error) OD_MUST;

/* Completes the message, like message_read. The builder must still be freed. */
enum message_result message_builder_end(struct message_builder *builder, struct message **ret,
                                        struct error *error) OD_MUST;

void message_builder_free(struct message_builder **builder);

#endif
