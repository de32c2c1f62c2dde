/* SPDX-License-Identifier: ISC
 *
 * Compares messages that an IMAP server returns with the one searched for. They are fed in pieces as they arrive and
 * never held whole: a server may send any amount. */
#ifndef ONCEDROP_MESSAGE_COMPARISON_H
#define ONCEDROP_MESSAGE_COMPARISON_H

#include "message/message.h"

enum message_likeness {
    MESSAGE_OTHER,
    MESSAGE_SIMILAR, /* the same except for what some servers change when they store a message, see message_comparison_new */
    MESSAGE_SAME,
};

/* Compares contents. MESSAGE_SAME: the content digests are equal. MESSAGE_SIMILAR: the digests are equal without CRs
 * and the newlines at the end (Courier drops bare CRs and adds a final line end), taking the message either as it is or
 * with each header byte >= 0x80 replaced by X (Cyrus, munge8bit), and without the fields that mbox stores add (X-UID,
 * Status, ...). Only for a search before an APPEND: otherwise similar messages are different messages.
 *
 * ignore  as for message_read; it and the message must outlive the comparison */
struct message_comparison *message_comparison_new(const struct message *message, const char *const *ignore) OD_MUST;

/* Compares Message-IDs: to be fed with headers as returned by FETCH BODY[HEADER.FIELDS (MESSAGE-ID)]. MESSAGE_SIMILAR:
 * they tell no id. */
struct message_comparison *message_comparison_new_id(const struct message *message) OD_MUST;

void message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size);

/* Returns the result for what was fed, and starts over for the next candidate. */
enum message_likeness message_comparison_end(struct message_comparison *comparison) OD_MUST;

void message_comparison_free(struct message_comparison **comparison);

#endif
