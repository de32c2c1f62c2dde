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

#endif
