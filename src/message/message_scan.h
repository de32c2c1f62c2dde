/* SPDX-License-Identifier: ISC
 *
 * Where lines, field names and the header end (RFC 5322, 2.2), over chunks cut anywhere. All who read a header read it by
 * this one: what is a field for the digest is one for everybody else. */
#ifndef ONCEDROP_MESSAGE_SCAN_H
#define ONCEDROP_MESSAGE_SCAN_H

#include "base/base.h"

/* What bytes are. A field is NAME COLON VALUE, then FOLD for each further line. */
enum message_span {
    MESSAGE_SPAN_NAME,  /* a line's beginning that is a field's name, with blanks behind it (RFC 5322, 4.5), if a COLON
                               comes next; if anything else comes, they were OTHER */
    MESSAGE_SPAN_COLON, /* the colon behind a name */
    MESSAGE_SPAN_VALUE, /* what follows on that line, its end included */
    MESSAGE_SPAN_FOLD,  /* a line that begins with a blank: it goes with the line before */
    MESSAGE_SPAN_OTHER, /* of a line that is no field; any CR that begin a line are also this */
    MESSAGE_SPAN_END,   /* the LF of the empty line that ends the header. Any number of CR may stand before it: a
                               server's storage drops some, and then it is an empty line for all */
    MESSAGE_SPAN_BODY,
};

/* Begins zeroed. */
struct message_scan {
    enum { SCAN_LINE, SCAN_CR, SCAN_NAME, SCAN_VALUE, SCAN_FOLD, SCAN_OTHER, SCAN_BODY } state;
    size_t name_size;   /* bytes of the line's NAME so far */
    size_t name_length; /* the same without the blanks behind it */
};

/* Takes from bytes what is of one kind, at least one byte and at most `size`, which is not 0; returns how many. */
size_t message_scan_take(struct message_scan *scan, const unsigned char *bytes, size_t size,
                         enum message_span *ret) OD_MUST;

/* Whether the next byte begins a line of the header. */
static inline bool message_scan_at_line(const struct message_scan *scan)
{
    return scan->state == SCAN_LINE;
}

#endif
