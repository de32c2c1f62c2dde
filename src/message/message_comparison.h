/* SPDX-License-Identifier: ISC
 *
 * Compares messages that an IMAP server returns with the one searched for, in pieces: a server may send any amount. */
#ifndef ONCEDROP_MESSAGE_COMPARISON_H
#define ONCEDROP_MESSAGE_COMPARISON_H

#include "message/message.h"

enum message_likeness {
    MESSAGE_OTHER,
    MESSAGE_SIMILAR, /* differs only in what some servers change */
    MESSAGE_SAME,
};

/* Compares content digests. MESSAGE_SIMILAR: they are equal without CRs and final newlines (Courier drops and adds
 * some), without fields of mbox stores (X-UID, Status, ...), and perhaps with X for header bytes >= 0x80 (Cyrus,
 * munge8bit). Only for a search before an APPEND: otherwise these are different messages. message and ignore must
 * outlive the comparison.
 *
 * If only the digest is known (message->data is NULL), nothing is MESSAGE_SIMILAR: see message_comparison_unclear(). */
struct message_comparison *message_comparison_new(const struct message *message, const char *const *ignore) OD_MUST;

/* Compares a notice in the message's place (decode/notice.c): MESSAGE_SAME if its attachment has the message's content,
 * else MESSAGE_OTHER. The text and trace fields may be those of another attempt. */
struct message_comparison *message_comparison_new_notice(const struct message *message,
                                                         const char *const *ignore) OD_MUST;

/* Compares Message-IDs, fed as FETCH BODY[HEADER.FIELDS (MESSAGE-ID)]. MESSAGE_SIMILAR: there is no id. */
struct message_comparison *message_comparison_new_id(const struct message *message) OD_MUST;

void message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size);

/* Returns the result, and starts over. */
enum message_likeness message_comparison_end(struct message_comparison *comparison) OD_MUST;

/* Sets digests of other messages, which are not unclear. They must outlive the comparison. */
void message_comparison_set_variants(struct message_comparison *comparison,
                                     const unsigned char (*variants)[MESSAGE_DIGEST_SIZE], size_t count);

/* Returns true if only the digest is known, and a candidate had another content, which is no variant's: it may be the
 * message as the server has changed it. comparison may be NULL. */
bool message_comparison_unclear(const struct message_comparison *comparison) OD_MUST;

void message_comparison_free(struct message_comparison **comparison);

#endif
