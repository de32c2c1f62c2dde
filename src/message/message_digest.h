/* SPDX-License-Identifier: ISC
 *
 * The content digest: SHA-256 over a message without the fields that transport adds or that differ between copies of
 * one message. Input comes in pieces of any size; at most the beginning of a field name is held back. */
#ifndef ONCEDROP_MESSAGE_DIGEST_H
#define ONCEDROP_MESSAGE_DIGEST_H

#include "message/message.h"

/* ignore: as for message_read; it must outlive the digest. */
struct message_digest *message_digest_new(const char *const *ignore) OD_MUST;

void message_digest_feed(struct message_digest *digest, const unsigned char *bytes, size_t size);

/* Completes the digest; to be called once. Returns the number of bytes digested: every copy of the message has at least
 * as many. */
size_t message_digest_end(struct message_digest *digest, unsigned char ret[MESSAGE_DIGEST_SIZE]);

void message_digest_free(struct message_digest **digest);

#endif
