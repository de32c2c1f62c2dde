/* SPDX-License-Identifier: ISC
 *
 * Shared by the decode*.c files. gmime decodes fields and encodings. It never gets a whole message: its parser takes
 * memory for each header line of each part, and recurses as deep as the input says. Some of its decoders take quadratic
 * time; hence the limits. */
#ifndef ONCEDROP_DECODE_INTERNAL_H
#define ONCEDROP_DECODE_INTERNAL_H

#include <gmime/gmime.h>
#include <iconv.h>

#include "decode/decoded.h"
#include "message/message_field.h"

#define DECODE_HEADER_MAX ((size_t)1 << 20) /* how much of a header is examined */
#define DECODE_VALUE_MAX ((size_t)1 << 14)  /* longest field value passed to gmime in one piece */
#define DECODE_ADDRESS_MAX ((size_t)2048)   /* longest address, with its name */
#define DECODE_TEXT_MAX ((size_t)1 << 20)   /* of one part's text */
#define DECODE_TEXTS_MAX ((size_t)16 << 20) /* of all texts of a message */

#define DECODE_PARAMETERS_MAX ((size_t)1 << 20) /* for decode_fields */

#define DECODE_ADDRESSES_MAX 2000
#define DECODE_PARTS_MAX 1000
#define DECODE_DEPTH_MAX 50

#define DECODE_DATE_MIN INT64_C(-62135596800) /* 0001-01-01 */
#define DECODE_DATE_MAX INT64_C(253402300799) /* 9999-12-31 23:59:59 */

/* Some of a message's bytes. */
struct decode_span {
    const unsigned char *start, *end;
};

static inline size_t decode_span_size(struct decode_span span)
{
    return (size_t)(span.end - span.start);
}

/* A new string: the value of the first field of that name in a header, unfolded and trimmed, at most `max` bytes of it;
 * NULL if there is no such field. */
char *decode_field(struct decode_span header, const char *name, size_t max) OD_MUST;

/* Sets date, in_reply_to and references, for which gmime is not needed. */
void decode_ids(struct decoded *decoded, struct decode_span header);

/* A new string with a result of gmime's as valid UTF-8; NULL for NULL or an empty string. decode_take also frees the
 * argument, with g_free(). */
char *decode_copy(const char *text) OD_MUST;
char *decode_take(char *text) OD_MUST;

/* A new string: the text, with adjacent base64 words of one character set joined into one word, padded at most at its
 * end. To be called before gmime decodes words. */
char *decode_join_words(const char *text) OD_MUST;

/* Adds the addresses of a field's value to decoded->addresses. */
void decode_addresses(struct decoded *decoded, GMimeParserOptions *options, const char *role, const char *value);

/* A new string: the address of the first mailbox in a From field's value, or NULL. */
char *decode_first_address(GMimeParserOptions *options, const char *value) OD_MUST;

/* Finds the addresses in a piece of an address field, between two commas; usually one. Calls `found` for each, with the
 * name before it, or the comment after it, as written; "": none. */
typedef void (*decode_mailbox_found)(void *context, const char *name, const char *address);
void decode_mailbox_find(const char *text, decode_mailbox_found found, void *context);

/* decode_mailbox.c: length of the next unit of a field: a quoted string, a comment, a domain literal, a quoted pair, or any other
 * character. If the first three are not closed, their first character is the unit. */
size_t decode_unit_length(const char *text) OD_MUST;

/* decode_parameters.c: repairs a field that consists of a type and parameters, so that gmime can read it: leaves out what is not a
 * parameter, closes quotes, and adds a missing semicolon before the first parameter. A new string.
 *
 * media_type  it is Content-Type: a type without a subtype becomes text/plain (RFC 2045, 5.2) */
char *decode_repair(const char *value, bool media_type) OD_MUST;

/* A new string: the first word of a value, without comments and quotes. */
char *decode_first_word(const char *value) OD_MUST;

/* decode_plain_mailbox.c: adds the mailboxes of a field's value, if all of them are simple (decode_plain.h); false: they are
 * not, and what was added so far stays. */
bool decode_plain_mailboxes(struct decoded *decoded, const char *role, const char *value) OD_MUST;

/* How the fields of parts are read. */
struct decode_fields {
    GMimeParserOptions *options;
    size_t parameters_left; /* bytes of values that gmime gets; after that only short values */
};

/* A part, or the message. */
struct decode_entity {
    struct decode_span body;
    GMimeContentEncoding encoding;
    char *boundary;           /* of a multipart type that has one; else NULL */
    struct decoded_part part; /* what the header says: type, charset, disposition, filename */
};

/* Reads the header at the beginning of the span into *entity, which is zeroed. Missing values are NULL, except that the
 * type is always set. */
void decode_entity_read(struct decode_fields *fields, struct decode_span span, const char *default_type,
                        struct decode_entity *entity);

void decode_entity_clear(struct decode_entity *entity);

/* Fills decoded->parts, calling `recorded` after each. */
void decode_parts(struct decoded *decoded, GMimeParserOptions *options, const struct message *message,
                  void (*recorded)(void *context), void *context);

/* The C library's name for a supported character set, in any spelling; NULL for any other. */
const char *decode_charset(const char *name) OD_MUST;

/* From now on, in the whole process, iconv_open(3) opens only converters from these character sets to UTF-8, and
 * iconv(3) does not fail once its input is consumed. */
void decode_charset_guard(void);

/* The same, for a process that will not be able to open files: opens the converters that most mail needs, and those
 * whose names are in this message (NULL: all), and keeps them, so that they can be opened again. If another is needed
 * later, since its name was assembled from pieces or comes with another message, the process ends with status
 * DECODE_CHARSET_MISSING. */
void decode_charset_keep(const struct message *message);

#define DECODE_CHARSET_MISSING 77

/* Takes from the process that decodes what a hole in gmime would be used for. It belongs to the user who delivers, so
 * it could read that user's files, with the password of the IMAP server, connect to servers, and end or trace other
 * processes. After this it can compute, read and write what is open, and end; it has no other system calls.
 *
 * For good: opens what decoding needs, then installs a filter of system calls (prctl(2), PR_SET_SECCOMP). Other calls
 * fail with EPERM: killed, the process could not tell who has sent the message, and there would be no Sent copy. Only
 * calls of another architecture kill it.
 *
 * message  for decode_charset_keep
 *
 * 0, or the errno why this process is not confined: ENOMEM, or this kernel or what surrounds us does not allow it. */
int decode_confine(const struct message *message) OD_MUST;

/* A new string: text of that character set as UTF-8, at most `max` bytes, no character cut. If charset is NULL or
 * unknown to decode_charset, the text is read as UTF-8 if it is valid, else as windows-1252. */
char *decode_to_utf8(const char *bytes, size_t length, const char *charset, size_t max) OD_MUST;

#endif
