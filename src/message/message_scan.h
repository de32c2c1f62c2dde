/* SPDX-License-Identifier: ISC
 *
 * Finds where lines, field names and the header end (RFC 5322, 2.2), in chunks of any size. All code that reads headers
 * uses this scanner, so that the digest and everybody else agree on what is a field. */
#ifndef ONCEDROP_MESSAGE_SCAN_H
#define ONCEDROP_MESSAGE_SCAN_H

#include "base/base.h"

/* Kinds of bytes. A field is NAME COLON VALUE, then FOLD for each continuation line. */
enum message_span {
    MESSAGE_SPAN_NAME,  /* the beginning of a line: a field name with any blanks after it (RFC 5322, 4.5), if a COLON
                               comes next; if anything else does, these bytes were OTHER */
    MESSAGE_SPAN_COLON, /* the colon after a name */
    MESSAGE_SPAN_VALUE, /* the rest of that line, including its end */
    MESSAGE_SPAN_FOLD,  /* a line that begins with a blank: a continuation */
    MESSAGE_SPAN_OTHER, /* of a line that is not a field; also any CRs at the beginning of a line */
    MESSAGE_SPAN_END,   /* the LF of the empty line that ends the header. Any number of CRs may come before it: some
                                servers drop them, after which everybody sees an empty line */
    MESSAGE_SPAN_BODY,
};

/* Begins zeroed. */
struct message_scan {
    enum { SCAN_LINE, SCAN_CR, SCAN_NAME, SCAN_VALUE, SCAN_FOLD, SCAN_OTHER, SCAN_BODY } state;
    size_t name_size;   /* bytes of the current line's NAME so far */
    size_t name_length; /* the same without trailing blanks */
};

/* Takes the bytes of one kind from the input: at least one, and at most `size`, which is not 0. Returns how many. */
size_t message_scan_take(struct message_scan *scan, const unsigned char *bytes, size_t size,
                         enum message_span *ret) OD_MUST;

/* A blank at the beginning of a line continues a field. */
static inline bool message_is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Blanks, and what line ends consist of. */
static inline bool message_is_white(char byte)
{
    return message_is_blank(byte) || byte == '\r' || byte == '\n';
}

/* Whether the next byte is at the beginning of a header line. */
static inline bool message_scan_at_line(const struct message_scan *scan)
{
    return scan->state == SCAN_LINE;
}

#endif
