/* SPDX-License-Identifier: ISC
 *
 * The quarantine notice, stored in place of a message that the IMAP server refuses (delivery.refused = quarantine),
 * with the message attached unchanged. */
#ifndef ONCEDROP_NOTICE_H
#define ONCEDROP_NOTICE_H

#include "decode/decode.h"
#include "message/message.h"

/* Control characters in texts become blanks. */
struct notice {
    const struct message *message;
    enum message_fields fields; /* of the attachment */
    const struct decoded *decoded;
    const char *id;
    const char *to;     /* recipient; NULL: unknown */
    const char *domain; /* of From; NULL or "": localhost */
    const char *sender; /* envelope; "": bounce */
    const char *reply;  /* the server's response */
    int64_t date;       /* seconds since 1970 */
};

/* Returns a new string: the notice's Message-ID, without <>. Depends only on content and namespace, so that a retry
 * finds it. */
char *notice_id(const char *namespace, const struct message *message) OD_MUST;

/* Returns the notice, in ASCII, lines of at most 998 bytes; in a file if large. Returns NULL and sets the error if
 * there is no room for it. */
struct message *notice_make(const struct notice *notice, struct error *error) OD_MUST;

/* Compares a candidate, in pieces from the server: equal if its attachment has the message's content
 * (message_comparison_new). The text and trace fields may be those of another attempt. */
struct notice_comparison;
struct notice_comparison *notice_comparison_new(const struct message *message, const char *const *ignore) OD_MUST;
void notice_comparison_feed(struct notice_comparison *comparison, const void *bytes, size_t size);

/* Returns true if the candidate was equal; another may follow. */
bool notice_comparison_end(struct notice_comparison *comparison) OD_MUST;
void notice_comparison_free(struct notice_comparison **comparison);

#define NOTICE_BOUNDARY "=_oncedrop_explanation" /* no line of text or base64 begins with "--" */

#endif
