/* SPDX-License-Identifier: ISC
 *
 * The content digest: SHA-256 over a message without the fields that transport adds or that differ between copies of
 * one message, and with its fields unfolded. Input comes in pieces of any size; at most the beginning of a field name is
 * held back.
 *
 * Unfolded: in the value of a field, a line end before a blank counts as one blank, with all white space around it. RFC
 * 5322, 2.2.3, removes the line end alone; but relays that fold anew put a tab for a blank (Sendmail, Exchange), indent,
 * or add a line end to the blank that is there. So two messages with one Message-ID and one body are the same if their
 * fields differ only in the amount of white space at a line end, which no reader sees. White space elsewhere counts byte
 * by byte. A field with two blanks in a row that a relay folds there counts as another one: that errs towards a second
 * copy, never towards a lost one. */
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
