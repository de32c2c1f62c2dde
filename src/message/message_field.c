/* SPDX-License-Identifier: ISC */
#include "message/message_field.h"

#include <glib.h>
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

size_t message_field_header_size(const unsigned char *bytes, size_t size)
{
    struct message_scan scan = {0};
    enum message_span span = MESSAGE_SPAN_OTHER;
    size_t at = 0;

    while (at < size && span != MESSAGE_SPAN_END)
        at += message_scan_take(&scan, bytes + at, size - at, &span);
    return at;
}

static void set_value(struct message_field *field, const unsigned char *value)
{
    const unsigned char *end = field->start + field->size;

    if (end > value && end[-1] == '\n')
        end--;
    while (end > value && end[-1] == '\r')
        end--;
    field->value = (const char *)value;
    field->value_length = (size_t)(end - value);
}

bool message_field_next(const unsigned char **cursor, const unsigned char *end, struct message_field *ret)
{
    struct message_field field = {.start = *cursor};
    const unsigned char *next = *cursor, *value = *cursor;
    struct message_scan scan = {0};

    while (next < end && (next == *cursor || scan.state != SCAN_LINE || message_is_blank((char)*next))) {
        enum message_span span;

        next += message_scan_take(&scan, next, (size_t)(end - next), &span);
        if (span == MESSAGE_SPAN_END)
            return false;
        if (span == MESSAGE_SPAN_COLON) {
            field.name_length = scan.name_length;
            value = next;
        }
    }
    field.size = (size_t)(next - *cursor);
    if (field.size == 0)
        return false;
    set_value(&field, value);
    *ret = field;
    *cursor = next;
    return true;
}

bool message_field_name_is(const void *name, size_t length, const char *pattern)
{
    size_t size = strlen(pattern);

    if (size > 0 && pattern[size - 1] == '*')
        return length > 0 && length >= size - 1 && g_ascii_strncasecmp(name, pattern, size - 1) == 0;
    return length > 0 && length == size && g_ascii_strncasecmp(name, pattern, size) == 0;
}

bool message_field_is(const struct message_field *field, const char *pattern)
{
    return message_field_name_is(field->start, field->name_length, pattern);
}

bool message_field_find(const unsigned char *header, size_t size, const char *name, struct message_field *ret)
{
    for (const unsigned char *at = header; message_field_next(&at, header + size, ret);)
        if (message_field_is(ret, name))
            return true;
    return false;
}

bool message_field_piece(const char **cursor, const char *end, const char **ret, size_t *ret_length)
{
    const char *start = *cursor, *lf = start;

    if (start == end)
        return false;
    while ((lf = memchr(lf, '\n', (size_t)(end - lf))) != NULL && (lf + 1 == end || !message_is_blank(lf[1])))
        lf++;
    *cursor = lf != NULL ? lf + 1 : end;
    *ret = start;
    *ret_length = (size_t)((lf != NULL ? lf : end) - start);
    if (lf != NULL && lf > start && lf[-1] == '\r')
        --*ret_length;
    return true;
}

char *message_field_unfold(const char *value, size_t length, size_t *ret_length)
{
    char *text = base_alloc(length + 1);
    const char *at = value, *piece;
    size_t n = 0, size;

    while (message_field_piece(&at, value + length, &piece, &size)) {
        memcpy(text + n, piece, size);
        n += size;
    }
    *ret_length = n;
    return text;
}
