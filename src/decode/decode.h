/* SPDX-License-Identifier: ISC
 *
 * A decoded message. What gmime cannot interpret is absent: NULL. All text is valid UTF-8 without NUL. Text without a
 * supported character set (decode_charset.c) is read as UTF-8 if valid, else as windows-1252. */
#ifndef ONCEDROP_DECODE_H
#define ONCEDROP_DECODE_H

#include "message/message.h"

struct decoded_address {
    const char *role; /* from, sender, reply-to, to, cc, bcc */
    int position;     /* from 1, within the role */
    char *group;      /* RFC 5322 */
    char *name;       /* decoded */
    char *address;    /* addr-spec as written, domain in lower case; not NULL */
};

struct decoded_part {
    char *path;        /* IMAP section: "1", "2.1", ... (RFC 3501, 6.4.5) */
    char *type;        /* lower case: "text/plain" */
    char *charset;     /* as declared, lower case */
    char *disposition; /* "inline", "attachment", ... */
    char *filename;    /* decoded (RFC 2231, RFC 2047) */
    int64_t size;      /* of the decoded content */
    unsigned char sha256[32];
    char *text; /* of text types, at levels text and raw: at most 1 MiB, and 16 MiB per message */
};

struct decoded {
    char *subject; /* decoded (RFC 2047) */
    char *from;    /* first From address */
    bool has_date;
    int64_t date;      /* seconds since 1970 UTC */
    char *in_reply_to; /* first id, without <> */
    char **references; /* without <>; NULL-terminated, at most 1000 */
    struct decoded_address *addresses;
    size_t address_count; /* at most 2000 */
    struct decoded_part *parts;
    size_t part_count; /* at most 1000, depth at most 50; a multipart only if it cannot be split */
};

void decoded_free(struct decoded **decoded);

/* Parses a date (RFC 5322, 3.3, or similar) to seconds since 1970. Sets *ret on true only. Safe in any process: does
 * not use gmime. */
bool decode_date(const char *text, int64_t *ret) OD_MUST;

/* decoding.c
 * Decodes in a child, so that the message is delivered even if decoding crashes, hangs or takes too much memory. What was
 * decoded before is recorded. The child has limits (decoder.c) and a sandbox (decode_sandbox.c), and dies with its parent.
 * Its output is not trusted (decode_wire.c). Plain messages need no child (decode_plain.c).
 *
 * LMTP and replay reuse a child while messages are small: a fork takes half of a delivery's time. If no child can be
 * started, mail is deferred. */

struct decoding;

/* Starts to decode, and returns at once. The message must outlive the decoding. Returns NULL and sets the error if no
 * child can be started. */
struct decoding *decoding_start(const struct message *message, enum record_level level, struct error *error) OD_MUST;

/* Waits for the result, owned by the decoding. Limits: 10 s of CPU time plus 1 s per 16 MiB; twice that in elapsed
 * time, but at most half of the time until the deadline. */
const struct decoded *decoding_result(struct decoding *decoding);

/* After decoding_result: returns why it is incomplete, for the log, or NULL. */
const char *decoding_error(const struct decoding *decoding) OD_MUST;

/* After decoding_result: returns true if the child failed before it had decoded From, and not because of the message:
 * killed from outside, setup or wait failed. Then defer all recipients (OUTCOME_TEMPFAIL), and record nothing: without its
 * sender the message would never get a Sent copy. */
bool decoding_must_be_retried(const struct decoding *decoding) OD_MUST;

/* After decoding_result: returns 0, or the errno why there was no sandbox. */
int decoding_without_sandbox(const struct decoding *decoding) OD_MUST;

/* Writes the content of a part (decoded_part.path), its transfer encoding removed, to fd. False: there is none, or it
 * could not be written. */
bool decoding_extract(const struct message *message, const char *path, int fd, struct error *error) OD_MUST;

void decoding_free(struct decoding **decoding);

/* Ends the waiting child, which would otherwise end with this process. */
void decoding_end(void);

/* notice.c
 * The quarantine notice, stored in place of a message that the IMAP server refuses (delivery.refused = quarantine),
 * with the message attached unchanged. */

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
