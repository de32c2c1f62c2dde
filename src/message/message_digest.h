/* SPDX-License-Identifier: ISC
 *
 * The content digest: SHA-256 over a message without the fields that transport adds or that differ between copies of
 * one message. Fed in chunks cut anywhere; holds back no more than the beginning of a field's name. */
#ifndef ONCEDROP_MESSAGE_DIGEST_H
#define ONCEDROP_MESSAGE_DIGEST_H

#include "message/message.h"

/* ignore: as for message_read; it must outlive the digest. */
struct message_digest *message_digest_new(const char *const *ignore) OD_MUST;

void message_digest_feed(struct message_digest *digest, const unsigned char *bytes, size_t size);

/* Ends it; to be called once. */
void message_digest_end(struct message_digest *digest, unsigned char ret[MESSAGE_DIGEST_SIZE]);

/* After message_digest_end: how many bytes it was made from. Every copy of the message has at least so many. */
size_t message_digest_size(const struct message_digest *digest) OD_MUST;

/* Of what was fed: up to and including the empty line; all when there is none. */
size_t message_digest_header_size(const struct message_digest *digest) OD_MUST;

void message_digest_free(struct message_digest **digest);

#endif
