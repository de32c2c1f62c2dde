/* SPDX-License-Identifier: ISC
 *
 * Whether what an IMAP server gives back is the message looked for. Fed piece by piece as it comes, never held whole:
 * what a server sends may be of any size. */
#ifndef ONCEDROP_MESSAGE_COMPARISON_H
#define ONCEDROP_MESSAGE_COMPARISON_H

#include "message/message.h"

enum message_likeness {
    MESSAGE_OTHER,
    MESSAGE_SIMILAR, /* the same but for what some servers change when they store it, see message_comparison_new */
    MESSAGE_SAME,
};

/* Compares contents. MESSAGE_SAME: of the same content digest. MESSAGE_SIMILAR: of the same digest when CRs and the
 * newlines at the end are left out of both (Courier drops bare CRs and adds a last line end), and the message is taken as
 * it is, or with each of its header bytes >= 0x80 made an X (Cyrus, munge8bit). For the search in doubt only: two messages
 * that are similar are two messages.
 *
 * ignore  as for message_read; it and the message must outlive the comparison */
struct message_comparison *message_comparison_new(const struct message *message, const char *const *ignore) OD_MUST;

/* Compares Message-IDs: fed with headers as FETCH BODY[HEADER.FIELDS (MESSAGE-ID)] answers them. */
struct message_comparison *message_comparison_new_id(const struct message *message) OD_MUST;

void message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size);

/* Ends what was fed, and makes ready for the next. */
enum message_likeness message_comparison_end(struct message_comparison *comparison) OD_MUST;

void message_comparison_free(struct message_comparison **comparison);

#endif
