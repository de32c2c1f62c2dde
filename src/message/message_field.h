/* SPDX-License-Identifier: ISC
 *
 * Header fields in the bytes of a message. A line that is not a field is content without a name; only the first empty
 * line ends a header. */
#ifndef ONCEDROP_MESSAGE_FIELD_H
#define ONCEDROP_MESSAGE_FIELD_H

#include "base/base.h"

struct message_field {
    const unsigned char *start; /* with name and continuation lines */
    size_t size;
    size_t name_length; /* without blanks before the colon; 0: not a field */
    const char *value;
    size_t value_length; /* without the last line end */
};

/* Returns the size of a header with its empty line; `size` if there is none. */
size_t message_field_header_size(const unsigned char *bytes, size_t size) OD_MUST;

/* Reads the field at *cursor and advances it; false at the empty line or the end. */
bool message_field_next(const unsigned char **cursor, const unsigned char *end, struct message_field *ret) OD_MUST;

/* Compares the name, in any case; a trailing * matches any rest. */
bool message_field_is(const struct message_field *field, const char *pattern) OD_MUST;

bool message_field_name_is(const void *name, size_t length, const char *pattern) OD_MUST;

bool message_field_find(const unsigned char *header, size_t size, const char *name, struct message_field *ret) OD_MUST;

/* Unfolds without a copy: returns the piece at *cursor, up to a line end before a blank, and advances past both; false
 * at the end. */
bool message_field_piece(const char **cursor, const char *end, const char **ret, size_t *ret_length) OD_MUST;

/* Returns the unfolded value, a new string (free(3)). *ret_length: without its NUL. */
char *message_field_unfold(const char *value, size_t length, size_t *ret_length) OD_MUST;

/* Finds lines, field names and the end of the header (RFC 5322, 2.2), in chunks of any size. All code that reads
 * headers uses it, so that all agree on what is a field. */

/* A field is NAME COLON VALUE, then FOLD for each continuation line. */
enum message_span {
    MESSAGE_SPAN_NAME, /* with blanks after it (RFC 5322, 4.5), if COLON is next; otherwise these bytes were OTHER */
    MESSAGE_SPAN_COLON,
    MESSAGE_SPAN_VALUE, /* rest of the line, with its end */
    MESSAGE_SPAN_FOLD,  /* begins with a blank */
    MESSAGE_SPAN_OTHER, /* a line that is not a field; CRs at the beginning of a line */
    MESSAGE_SPAN_END,   /* LF of the empty line that ends the header, after any CRs (OTHER): some servers drop them */
    MESSAGE_SPAN_BODY,
};

/* Zeroed initially. */
struct message_scan {
    enum { SCAN_LINE, SCAN_CR, SCAN_NAME, SCAN_VALUE, SCAN_FOLD, SCAN_OTHER, SCAN_BODY } state;
    size_t name_size;   /* of the current line's NAME so far */
    size_t name_length; /* without trailing blanks */
};

/* Takes bytes of one kind. Returns how many, from 1 to `size`, which is not 0. */
size_t message_scan_take(struct message_scan *scan, const unsigned char *bytes, size_t size,
                         enum message_span *ret) OD_MUST;

static inline bool message_is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static inline bool message_is_white(char byte)
{
    return message_is_blank(byte) || byte == '\r' || byte == '\n';
}

#endif
