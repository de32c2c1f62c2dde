/* SPDX-License-Identifier: ISC
 *
 * Scans the header as a state machine over chunks. */
#include "message/message_scan.h"

#include <string.h>

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t';
}

static void begin_line(struct message_scan *scan, unsigned char first)
{
    scan->name_size = scan->name_length = 0;
    scan->state = first == '\r' || first == '\n' ? SCAN_CR : is_blank(first) ? SCAN_FOLD : SCAN_NAME;
}

static size_t count_cr(const unsigned char *bytes, size_t size)
{
    size_t n = 0;

    while (n < size && bytes[n] == '\r')
        n++;
    return n;
}

/* Printable ASCII except the colon, then blanks only (RFC 5322, 3.6.8 and 4.5). */
static size_t count_name(struct message_scan *scan, const unsigned char *bytes, size_t size)
{
    size_t n = 0;

    for (; n < size; n++) {
        if (bytes[n] > ' ' && bytes[n] <= '~' && bytes[n] != ':' && scan->name_size == scan->name_length)
            scan->name_length++;
        else if (!is_blank(bytes[n]))
            break;
        scan->name_size++;
    }
    return n;
}

/* Up to the end of the line, or of the chunk. */
static size_t take_line(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span kind,
                        enum message_span *ret)
{
    const unsigned char *lf = memchr(bytes, '\n', size);

    *ret = kind;
    if (lf == NULL)
        return size;
    scan->state = SCAN_LINE;
    return (size_t)(lf - bytes) + 1;
}

static size_t take_cr(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    size_t n = count_cr(bytes, size);

    *ret = MESSAGE_SPAN_OTHER;
    if (n > 0)
        return n;
    if (*bytes == '\n') {
        *ret = MESSAGE_SPAN_END;
        scan->state = SCAN_BODY;
        return 1;
    }
    scan->state = SCAN_OTHER;
    return take_line(scan, bytes, size, MESSAGE_SPAN_OTHER, ret);
}

static size_t take_name(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    size_t n = count_name(scan, bytes, size);

    *ret = MESSAGE_SPAN_NAME;
    if (n > 0)
        return n;
    if (*bytes == ':' && scan->name_length > 0) {
        *ret = MESSAGE_SPAN_COLON;
        scan->state = SCAN_VALUE;
        return 1;
    }
    scan->state = SCAN_OTHER;
    return take_line(scan, bytes, size, MESSAGE_SPAN_OTHER, ret);
}

size_t message_scan_take(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    if (scan->state == SCAN_LINE)
        begin_line(scan, *bytes);
    switch (scan->state) {
    case SCAN_LINE:
    case SCAN_CR:
        return take_cr(scan, bytes, size, ret);
    case SCAN_NAME:
        return take_name(scan, bytes, size, ret);
    case SCAN_VALUE:
        return take_line(scan, bytes, size, MESSAGE_SPAN_VALUE, ret);
    case SCAN_FOLD:
        return take_line(scan, bytes, size, MESSAGE_SPAN_FOLD, ret);
    case SCAN_OTHER:
        return take_line(scan, bytes, size, MESSAGE_SPAN_OTHER, ret);
    case SCAN_BODY:
        break;
    }
    *ret = MESSAGE_SPAN_BODY;
    return size;
}
