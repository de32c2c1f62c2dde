/* SPDX-License-Identifier: ISC
 *
 * Builds a message from pieces, for message_read and LMTP's DATA. */
#ifndef ONCEDROP_MESSAGE_BUILDER_H
#define ONCEDROP_MESSAGE_BUILDER_H

#include "message/message.h"

/* size_limit and ignore as for message_read; ignore must outlive the builder. */
struct message_builder *message_builder_new(size_t size_limit, const char *const *ignore) OD_MUST;

/* To be called before the first bytes: the input begins with the header, even if that looks like an mbox From_ line. */
void message_builder_no_from_line(struct message_builder *builder);

/* Adds bytes as received, in pieces of any size; those beyond the limit are counted and dropped. False with the fault
 * set if they cannot be stored: then the message cannot be completed, and every later call says so again. */
bool message_builder_feed(struct message_builder *builder, const void *bytes, size_t size, struct fault *fault) OD_MUST;

/* Completes the message; results as of message_read. The builder must still be freed. */
enum message_result message_builder_end(struct message_builder *builder, struct message **ret,
                                        struct fault *fault) OD_MUST;

void message_builder_free(struct message_builder **builder);

#endif
