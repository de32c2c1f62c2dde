/* SPDX-License-Identifier: ISC */
#include "message/message_field.h"

#include <string.h>

static void begin_line(struct message_scan *scan, unsigned char first)
{
    scan->name_size = scan->name_length = 0;
    scan->state = first == '\r' || first == '\n' ? SCAN_CR : message_is_blank((char)first) ? SCAN_FOLD : SCAN_NAME;
}

/* Printable ASCII except the colon, then blanks (RFC 5322, 3.6.8 and 4.5). */
static size_t count_name(struct message_scan *scan, const unsigned char *bytes, size_t size)
{
    size_t n = 0;

    for (; n < size; n++) {
        if (bytes[n] > ' ' && bytes[n] <= '~' && bytes[n] != ':' && scan->name_size == scan->name_length)
            scan->name_length++;
        else if (!message_is_blank((char)bytes[n]))
            break;
        scan->name_size++;
    }
    return n;
}

static size_t take_rest(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    const unsigned char *lf = memchr(bytes, '\n', size);

    *ret = scan->state == SCAN_VALUE  ? MESSAGE_SPAN_VALUE
           : scan->state == SCAN_FOLD ? MESSAGE_SPAN_FOLD
                                      : MESSAGE_SPAN_OTHER;
    if (lf == NULL)
        return size;
    scan->state = SCAN_LINE;
    return (size_t)(lf - bytes) + 1;
}

/* The rest of an empty line; 0: it is none. */
static size_t take_cr(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    size_t n = 0;

    *ret = MESSAGE_SPAN_OTHER;
    while (n < size && bytes[n] == '\r')
        n++;
    if (n > 0 || *bytes != '\n')
        return n;
    *ret = MESSAGE_SPAN_END;
    scan->state = SCAN_BODY;
    return 1;
}

/* The rest of a name, or its colon; 0: not a field. */
static size_t take_name(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    size_t n = count_name(scan, bytes, size);

    *ret = MESSAGE_SPAN_NAME;
    if (n > 0 || *bytes != ':' || scan->name_length == 0)
        return n;
    *ret = MESSAGE_SPAN_COLON;
    scan->state = SCAN_VALUE;
    return 1;
}

size_t message_scan_take(struct message_scan *scan, const unsigned char *bytes, size_t size, enum message_span *ret)
{
    size_t n = 0;

    if (scan->state == SCAN_LINE)
        begin_line(scan, *bytes);
    if (scan->state == SCAN_BODY) {
        *ret = MESSAGE_SPAN_BODY;
        return size;
    }
    if (scan->state == SCAN_CR)
        n = take_cr(scan, bytes, size, ret);
    else if (scan->state == SCAN_NAME)
        n = take_name(scan, bytes, size, ret);
    else
        return take_rest(scan, bytes, size, ret);
    if (n > 0)
        return n;
    scan->state = SCAN_OTHER;
    return take_rest(scan, bytes, size, ret);
}
