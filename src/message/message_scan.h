/* SPDX-License-Identifier: ISC
 *
 * Finds lines, field names and the end of the header (RFC 5322, 2.2), in chunks of any size. All code that reads
 * headers uses it, so that all agree on what is a field. */
#ifndef ONCEDROP_MESSAGE_SCAN_H
#define ONCEDROP_MESSAGE_SCAN_H

#include "base/base.h"

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
