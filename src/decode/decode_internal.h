/* SPDX-License-Identifier: ISC
 *
 * Shared by decode*.c. A returned `char *` is a new string. gmime decodes fields and encodings, but never parses a
 * complete message: its parser allocates for each header line, and recurses without limit. Some of its decoders take
 * quadratic time, hence the limits. */
#ifndef ONCEDROP_DECODE_INTERNAL_H
#define ONCEDROP_DECODE_INTERNAL_H

#include <gmime/gmime.h>
#include <iconv.h>

#include "decode/decoded.h"
#include "message/message_field.h"

#define DECODE_HEADER_MAX ((size_t)1 << 20) /* bytes read of a header */
#define DECODE_VALUE_MAX ((size_t)1 << 14)  /* longest value for gmime in one piece */
#define DECODE_ADDRESS_MAX ((size_t)2048)
#define DECODE_TEXT_MAX ((size_t)1 << 20)   /* of one part */
#define DECODE_TEXTS_MAX ((size_t)16 << 20) /* of all parts */

#define DECODE_PARAMETERS_MAX ((size_t)1 << 20)

#define DECODE_ADDRESSES_MAX 2000
#define DECODE_PARTS_MAX 1000
#define DECODE_DEPTH_MAX 50

#define DECODE_DATE_MIN INT64_C(-62135596800) /* 0001-01-01 */
#define DECODE_DATE_MAX INT64_C(253402300799) /* 9999-12-31 23:59:59 */

struct decode_span {
    const unsigned char *start, *end;
};

static inline size_t decode_span_size(struct decode_span span)
{
    return (size_t)(span.end - span.start);
}

/* decode_field.c */

/* Returns the value of the first field of that name, unfolded, trimmed, cut at `max` bytes; or NULL. */
char *decode_field(struct decode_span header, const char *name, size_t max) OD_MUST;

/* Sets date, in_reply_to and references, without gmime. */
void decode_ids(struct decoded *decoded, struct decode_span header);

/* decode_text.c */

/* Returns text as UTF-8 (decode.h), at most `max` bytes, no character cut. charset may be NULL. */
char *decode_to_utf8(const char *bytes, size_t length, const char *charset, size_t max) OD_MUST;

/* Return a result of gmime as UTF-8; NULL for NULL or "". decode_take also frees it. */
char *decode_copy(const char *text) OD_MUST;
char *decode_take(char *text) OD_MUST;

/* decode_words.c */

/* Joins adjacent base64 words (RFC 2047) of one character set: padding only at the end. Call it before gmime decodes
 * words. */
char *decode_join_words(const char *text) OD_MUST;

/* A decode_phrase; options: GMimeParserOptions. */
char *decode_words_phrase(void *options, const char *text) OD_MUST;

/* decode_address.c */

/* Returns a name (RFC 5322, 3.2.5) decoded; NULL if empty. */
typedef char *decode_phrase(void *context, const char *text);

/* Adds a field's addresses, names decoded by `phrase`. */
void decode_addresses(struct decoded *decoded, const char *role, const char *value, decode_phrase *phrase,
                      void *context);

/* Returns the first address of a From field, or NULL. */
char *decode_first_address(const char *value, decode_phrase *phrase, void *context) OD_MUST;

/* decode_mailbox.c */

/* Calls `found` for each address (usually one) between two commas of a field. name: what precedes it, else the comment
 * after it, else "". */
typedef void (*decode_mailbox_found)(void *context, const char *name, const char *address);
void decode_mailbox_find(const char *text, decode_mailbox_found found, void *context);

/* Returns the length of the next quoted string, comment, domain literal, quoted pair, or character.
 * An unclosed opening character counts as one. */
size_t decode_unit_length(const char *text) OD_MUST;

/* decode_parameters.c: repairs Content-Type (media_type) or a similar field for gmime: removes what is not a parameter,
 * closes quotes, adds a missing first semicolon. */
char *decode_repair(const char *value, bool media_type) OD_MUST;

/* Returns the first word, without comments and quotes. */
char *decode_first_word(const char *value) OD_MUST;

/* decode_entity.c */

struct decode_fields {
    GMimeParserOptions *options;
    size_t parameters_left; /* bytes of values for gmime; then it gets only short values */
};

/* A part, or the message. */
struct decode_entity {
    struct decode_span body;
    GMimeContentEncoding encoding;
    char *boundary;           /* of a multipart */
    struct decoded_part part; /* as the header says */
};

/* Reads the span's header into *entity, which is zeroed. Always sets the type. */
void decode_entity_read(struct decode_fields *fields, struct decode_span span, const char *default_type,
                        struct decode_entity *entity);

void decode_entity_clear(struct decode_entity *entity);

/* decode_part.c */

/* Fills decoded->parts; calls `recorded` after each. */
void decode_parts(struct decoded *decoded, GMimeParserOptions *options, const struct message *message,
                  void (*recorded)(void *context), void *context);

/* decode_charset.c */

/* Returns the C library's name of a supported character set in any spelling, or NULL. */
const char *decode_charset(const char *name) OD_MUST;

/* For the whole process: iconv_open(3) converts only from supported character sets to UTF-8; iconv(3) does not fail
 * after consuming its input. */
void decode_charset_guard(void);

/* Like decode_charset_guard(), for a process that cannot open files later: keeps common converters, and those named in
 * this message (NULL: all). If it later lacks one, it exits with DECODE_CHARSET_MISSING. */
void decode_charset_keep(const struct message *message);

#define DECODE_CHARSET_MISSING 77

/* decode_sandbox.c */

/* Enters a sandbox, in which this process can only compute, read and write open descriptors, and exit. A vulnerability
 * in gmime could otherwise reveal the user's IMAP password, connect to servers, or kill processes.
 *
 * Opens what decoding needs (decode_charset_keep), then installs a system call filter for good (PR_SET_SECCOMP,
 * prctl(2)). Other calls fail with EPERM. They do not kill: a killed child could not report the sender, and there would
 * be no Sent copy. Only calls of another architecture kill.
 *
 * Returns 0, or the errno: ENOMEM, or the kernel or a container allows no filter. */
int decode_sandbox(const struct message *message) OD_MUST;

#endif
