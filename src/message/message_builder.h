/* SPDX-License-Identifier: ISC
 *
 * A message in the making, for those who get its bytes piece by piece: message_read, and LMTP's DATA. */
#ifndef ONCEDROP_MESSAGE_BUILDER_H
#define ONCEDROP_MESSAGE_BUILDER_H

#include "message/message.h"

/* size_limit and ignore as for message_read; ignore must outlive the builder. */
struct message_builder *message_builder_new(size_t size_limit, const char *const *ignore) OD_MUST;

/* Before the first bytes: what is to come begins with the header, even where that looks like an mbox From_ line. */
void message_builder_no_from_line(struct message_builder *builder);

/* Takes bytes as received, cut anywhere; beyond the limit they are counted and dropped. False with the fault set when
 * they cannot be kept: the message is lost to us, and only freeing the builder makes sense. */
bool message_builder_feed(struct message_builder *builder, const void *bytes, size_t size, struct fault *fault) OD_MUST;

/* Ends the message; results as of message_read. The builder is still to be freed. */
enum message_result message_builder_end(struct message_builder *builder, struct message **ret,
                                        struct fault *fault) OD_MUST;

void message_builder_free(struct message_builder **builder);

#endif
