/* SPDX-License-Identifier: ISC
 *
 * Header fields as they stand in the bytes of a message. */
#include "message/message_field.h"

#include <glib.h>
#include <string.h>

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Blanks at the end belong to the colon; within a name there are none (RFC 5322, 3.6.8 and 4.5). 0: not a name. */
static size_t name_length(const unsigned char *name, size_t length)
{
    while (length > 0 && is_blank(name[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return 0;
    return length;
}

static const unsigned char *after_line(const unsigned char *line, const unsigned char *end)
{
    const unsigned char *lf = memchr(line, '\n', (size_t)(end - line));

    return lf ? lf + 1 : end;
}

/* Several CR before the LF: a server's storage may drop some, and then it is an empty line. */
static bool is_empty_line(const unsigned char *line, const unsigned char *end)
{
    while (line < end && *line == '\r')
        line++;
    return line < end && *line == '\n';
}

size_t message_field_header_size(const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;

    for (const unsigned char *line = bytes; line < end; line = after_line(line, end))
        if (is_empty_line(line, end))
            return (size_t)(after_line(line, end) - bytes);
    return size;
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
    const unsigned char *start = *cursor, *next, *colon;

    if (start >= end || is_empty_line(start, end))
        return false;
    next = after_line(start, end);
    colon = memchr(start, ':', (size_t)(next - start));
    while (next < end && is_blank(*next))
        next = after_line(next, end);

    ret->start = start;
    ret->size = (size_t)(next - start);
    ret->name_length = colon ? name_length(start, (size_t)(colon - start)) : 0;
    set_value(ret, ret->name_length > 0 ? colon + 1 : start);
    *cursor = next;
    return true;
}

static bool matches(const unsigned char *name, size_t length, const char *pattern)
{
    size_t size = strlen(pattern);

    if (size > 0 && pattern[size - 1] == '*')
        return length >= size - 1 && g_ascii_strncasecmp((const char *)name, pattern, size - 1) == 0;
    return length == size && g_ascii_strncasecmp((const char *)name, pattern, size) == 0;
}

bool message_field_name_is(const void *name, size_t length, const char *pattern)
{
    length = name_length(name, length);
    return length > 0 && matches(name, length, pattern);
}

bool message_field_is(const struct message_field *field, const char *pattern)
{
    return field->name_length > 0 && matches(field->start, field->name_length, pattern);
}

bool message_field_find(const unsigned char *header, size_t size, const char *name, struct message_field *ret)
{
    struct message_field field;

    for (const unsigned char *at = header; message_field_next(&at, header + size, &field);) {
        if (message_field_is(&field, name)) {
            *ret = field;
            return true;
        }
    }
    return false;
}

char *message_field_unfold(const char *value, size_t length, size_t *ret_length)
{
    char *text = base_alloc(length + 1);
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        size_t line_end = value[i] == '\n' ? 1 : value[i] == '\r' && i + 1 < length && value[i + 1] == '\n' ? 2 : 0;

        if (line_end > 0 && i + line_end < length && is_blank((unsigned char)value[i + line_end]))
            i += line_end - 1;
        else
            text[n++] = value[i];
    }
    *ret_length = n;
    return text;
}
