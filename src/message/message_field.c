/* SPDX-License-Identifier: ISC */
#include "message/message_field.h"

#include <glib.h>
#include <string.h>

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
