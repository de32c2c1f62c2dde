/* SPDX-License-Identifier: ISC
 *
 * What of a message is recorded: decoded as far as it can be. Any sequence of bytes is decodable in this sense;
 * what gmime cannot make sense of is simply absent. All text is valid UTF-8 without NUL. A character set that is not among
 * those that mail uses (decode_charset.c) is not converted: the text is taken for UTF-8 when it is that, else for
 * windows-1252, as if none had been named.
 *
 * Libraries end the process when they meet what they did not expect, and have holes. Hence decode_message is not called in
 * the process that delivers, but in one of its own, by decoding.h. */
#ifndef ONCEDROP_DECODE_H
#define ONCEDROP_DECODE_H

#include "message/message.h"

struct decoded_address {
    const char *role; /* from, sender, reply-to, to, cc, bcc */
    int position;     /* from 1, within the role */
    char *group;      /* name of the RFC 5322 group it stands in, or NULL */
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
    size_t part_count; /* at most 1000; depth at most 50. Parts with content of their own: a multipart is
                          one only when it cannot be taken apart */
};

/* Decodes as much as the level asks for: envelope: subject, from, date, ids; headers: addresses too;
 * text and raw: parts too. Never fails; of a header only the first MiB is looked at. */
struct decoded *decode_message(const struct message *message, enum record_level level) OD_MUST;

void decoded_free(struct decoded **decoded);

/* A date as in RFC 5322, 3.3, or near to it: seconds since 1970. False leaves *ret. Without gmime: in any process. */
bool decode_date(const char *text, int64_t *ret) OD_MUST;

/* A new string: the bytes as valid UTF-8 without NUL, what is neither is replaced by U+FFFD. Without iconv(3)
 * or gmime: in any process. */
char *decode_scrub(const char *bytes, size_t length) OD_MUST;

#endif
