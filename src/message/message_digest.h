/* SPDX-License-Identifier: ISC
 *
 * The content digest: SHA-256 over a message without the fields that transport adds or that differ between copies of
 * one message, and with its fields unfolded. Input comes in pieces of any size; at most the beginning of a field name is
 * held back.
 *
 * Unfolded: in the value of a field, a line end before a blank counts as one blank, with all white space around it. RFC
 * 5322, 2.2.3, removes the line end alone. But relays that change the folding replace a blank by a tab (Sendmail,
 * Exchange), indent, or insert a line end beside a blank. So fields that differ only in the white space at a line end, which
 * no reader sees, are the same. White space elsewhere counts byte by byte. If a relay folds a field at two blanks in a row,
 * the field therefore counts as another one: that may store a second copy, but loses none. */
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
