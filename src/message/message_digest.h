/* SPDX-License-Identifier: ISC
 *
 * The content digest: SHA-256 over a message without the fields that transport adds or that differ between copies, and
 * with its fields unfolded. Of several CRs before an LF one counts, and none at the end: some servers (Dovecot) drop
 * them.
 *
 * A line end before a blank, with all white space around it, counts as one blank. RFC 5322, 2.2.3, removes only the
 * line end, but relays that fold differently use tabs (Sendmail, Exchange), indent, or add a line end next to a blank.
 * A fold at two blanks in a row may cause a second copy, but no loss. */
#ifndef ONCEDROP_MESSAGE_DIGEST_H
#define ONCEDROP_MESSAGE_DIGEST_H

#include "message/message.h"

/* ignore must outlive the digest. */
struct message_digest *message_digest_new(const char *const *ignore) OD_MUST;

void message_digest_feed(struct message_digest *digest, const unsigned char *bytes, size_t size);

/* Completes the digest, once. Returns the number of bytes digested: the least that a copy has. */
size_t message_digest_end(struct message_digest *digest, unsigned char ret[MESSAGE_DIGEST_SIZE]);

void message_digest_free(struct message_digest **digest);

#endif
