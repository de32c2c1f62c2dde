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

/* Returns a new string: the bytes as UTF-8 without NUL, U+FFFD for invalid ones. Uses neither iconv(3) nor gmime. */
char *decode_sanitize(const char *bytes, size_t length) OD_MUST;

#endif
