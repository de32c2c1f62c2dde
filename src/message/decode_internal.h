/* SPDX-License-Identifier: ISC
 *
 * What the files of decode share. gmime decodes fields and encodings here; it is never given a whole message, because
 * its parser takes memory by the number of header lines of every part and recurses as deep as the input says. Some of
 * its decoders take time by the square of their input, hence the limits. */
#ifndef ONCEDROP_DECODE_INTERNAL_H
#define ONCEDROP_DECODE_INTERNAL_H

#include <gmime/gmime.h>
#include <iconv.h>

#include "message/decode.h"
#include "message/message_field.h"

#define DECODE_HEADER_MAX ((size_t)1 << 20) /* of a header, what is looked at */
#define DECODE_VALUE_MAX ((size_t)1 << 14)  /* of a field that gmime gets in one piece */
#define DECODE_ADDRESS_MAX ((size_t)2048)   /* of one address with its name */
#define DECODE_TEXT_MAX ((size_t)1 << 20)   /* of one part's text */
#define DECODE_TEXTS_MAX ((size_t)16 << 20) /* of all texts of a message */

#define DECODE_REFERENCES_MAX 1000
#define DECODE_ADDRESSES_MAX 2000
#define DECODE_PARTS_MAX 1000
#define DECODE_DEPTH_MAX 50

#define DECODE_DATE_MIN INT64_C(-62135596800) /* 0001-01-01 */
#define DECODE_DATE_MAX INT64_C(253402300799) /* 9999-12-31 23:59:59 */

/* The roles of addresses, NULL-terminated. */
extern const char *const decode_roles[];

/* Empty, with an empty list of references. */
struct decoded *decoded_new(void) OD_MUST;

/* One more at the end, empty; it may move the others. */
struct decoded_address *decoded_add_address(struct decoded *decoded) OD_MUST;
struct decoded_part *decoded_add_part(struct decoded *decoded) OD_MUST;

/* Frees what a part consists of. */
void decoded_part_clear(struct decoded_part *part);

/* What has just been added to the result: the stages are in this order; those of addresses and parts come again and
 * again, once for a field's addresses and once for each part. */
enum decode_stage {
    DECODE_IDS, /* date, in_reply_to, references */
    DECODE_FROM,
    DECODE_SUBJECT,
    DECODE_ADDRESSES,
    DECODE_PART,
    DECODE_ALL, /* the end */
};

typedef void (*decode_step)(void *context, const struct decoded *decoded, enum decode_stage stage);

/* decode_message, with a call of `step` (NULL: none) after each stage. */
struct decoded *decode_message_steps(const struct message *message, enum record_level level, decode_step step,
                                     void *context) OD_MUST;

/* The bytes of a header that are looked at. */
struct decode_header {
    const unsigned char *bytes;
    size_t size;
};

/* A new string: the value of the first field of that name, unfolded, outer blanks off, at most `max` bytes of it;
 * NULL when there is none. */
char *decode_field(const struct decode_header *header, const char *name, size_t max) OD_MUST;

/* A new string for what gmime gave: valid UTF-8; NULL for NULL or an empty string. Frees the argument by g_free(). */
char *decode_take(char *text) OD_MUST;

/* Adds the addresses of a field's value to decoded->addresses. */
void decode_addresses(struct decoded *decoded, GMimeParserOptions *options, const char *role, const char *value);

/* A new string: the address of the first mailbox in a From field's value, or NULL. */
char *decode_first_address(GMimeParserOptions *options, const char *value) OD_MUST;

/* Fills decoded->parts; `recorded` is called after each. */
void decode_parts(struct decoded *decoded, GMimeParserOptions *options, const struct message *message,
                  void (*recorded)(void *context), void *context);

/* Size and hash of a body's decoded content into *part. The first bytes of it are kept in *text when that is not
 * NULL: enough for DECODE_TEXT_MAX of UTF-8. */
void decode_content(const unsigned char *body, size_t size, GMimeContentEncoding encoding, struct decoded_part *part,
                    GByteArray *text);

/* The libc's name for a character set that is converted, whatever its spelling; NULL for any other. */
const char *decode_charset(const char *name) OD_MUST;

/* From now on iconv_open(3) opens converters from these to UTF-8 only, whoever calls it in this process, and iconv(3)
 * does not fail with nothing left. */
void decode_charset_guard(void);

/* A new string: text of that charset as UTF-8, at most `max` bytes, no character cut. NULL, or one that decode_charset
 * does not know: read as UTF-8 when it is that, else as windows-1252. */
char *decode_to_utf8(const char *bytes, size_t length, const char *charset, size_t max) OD_MUST;

#endif
