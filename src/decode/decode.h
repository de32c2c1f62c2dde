/* SPDX-License-Identifier: ISC
 *
 * Decodes the parts of a message that are recorded, as far as possible. Any sequence of bytes can be decoded in this
 * sense; what gmime cannot interpret is simply absent. All text is valid UTF-8 without NUL. Text in a character set
 * that is not in common use for mail (decode_charset.c) is treated as if no character set had been given: as UTF-8 if
 * it is valid, else as windows-1252. How to have a message decoded: decoding.h. */
#ifndef ONCEDROP_DECODE_H
#define ONCEDROP_DECODE_H

#include "message/message.h"

struct decoded_address {
    const char *role; /* from, sender, reply-to, to, cc, bcc */
    int position;     /* from 1, within the role */
    char *group;      /* name of the enclosing RFC 5322 group, or NULL */
    char *name;       /* decoded display name, or NULL */
    char *address;    /* addr-spec as written, domain in lower case; never NULL */
};

struct decoded_part {
    char *path;               /* IMAP section number: "1", "2.1", ... (RFC 3501, 6.4.5) */
    char *type;               /* "text/plain", lower case */
    char *charset;            /* as declared, lower case, or NULL */
    char *disposition;        /* inline, attachment, ..., or NULL */
    char *filename;           /* decoded (RFC 2231, RFC 2047), or NULL */
    int64_t size;             /* bytes of the decoded content */
    unsigned char sha256[32]; /* of the decoded content */
    char *text;               /* of text types: converted to UTF-8 (level text and raw), cut at 1 MiB, all
                               of a message together at 16 MiB; else NULL */
};

struct decoded {
    char *subject; /* RFC 2047 decoded, or NULL */
    char *from;    /* address of the first From mailbox, or NULL */
    bool has_date;
    int64_t date;      /* Date field, seconds since 1970 UTC */
    char *in_reply_to; /* first id of In-Reply-To, without <>, or NULL */
    char **references; /* ids of References in order, without <>; NULL-terminated, at most 1000 */
    struct decoded_address *addresses;
    size_t address_count; /* at most 2000 */
    struct decoded_part *parts;
    size_t part_count; /* at most 1000; depth at most 50. Only parts with content of their own: a multipart is
                          included only if it cannot be split into its parts */
};

void decoded_free(struct decoded **decoded);

/* Parses a date as in RFC 5322, 3.3, or similar, to seconds since 1970. On false *ret is untouched. Does not use gmime,
 * so any process may call it. */
bool decode_date(const char *text, int64_t *ret) OD_MUST;

/* A new string: the bytes as valid UTF-8 without NUL, with U+FFFD in place of anything else. Uses neither iconv(3) nor
 * gmime, so any process may call it. */
char *decode_scrub(const char *bytes, size_t length) OD_MUST;

#endif
