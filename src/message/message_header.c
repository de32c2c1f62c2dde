/* SPDX-License-Identifier: ISC
 *
 * Values of header fields, and the message without some of them. */
#include "message/message.h"

#include <stdlib.h>
#include <string.h>

#include "message/message_field.h"
#include "message/message_scan.h"

#define VALUE_MAX ((size_t)1 << 20)  /* how much of a field value is copied */
#define PIECES_MAX ((size_t)1 << 16) /* one MiB of them: a message may consist of nothing but fields to leave out */

char *message_header(const struct message *message, const char *name, size_t *ret_length)
{
    struct message_field field;
    const char *value, *end;
    char *text;
    size_t length;

    if (!message_field_find(message->data, message->header_size, name, &field))
        return NULL;
    value = field.value;
    end = value + field.value_length;
    while (value < end && message_is_white(*value))
        value++;
    while (end > value && message_is_white(end[-1]))
        end--;
    length = (size_t)(end - value);
    text = message_field_unfold(value, length < VALUE_MAX ? length : VALUE_MAX, &length);
    if (ret_length != NULL)
        *ret_length = length;
    return text;
}

struct pieces {
    struct iovec *array;
    size_t count, allocated, size;
};

static void add_piece(struct pieces *pieces, const unsigned char *start, const unsigned char *end)
{
    size_t size = (size_t)(end - start);

    if (size == 0)
        return;
    if (pieces->count == pieces->allocated) {
        pieces->allocated *= 2;
        pieces->array = base_realloc(pieces->array, pieces->allocated * sizeof(*pieces->array));
    }
    /* struct iovec has no const pointer */
    memcpy(&pieces->array[pieces->count].iov_base, &start, sizeof(start));
    pieces->array[pieces->count].iov_len = size;
    pieces->count++;
    pieces->size += size;
}

static bool names_envelope(const struct message_field *field)
{
    return message_field_is(field, "Return-Path") || message_field_is(field, "Delivered-To") ||
           message_field_is(field, "X-Original-To");
}

struct iovec *message_pieces(const struct message *message, enum message_fields fields, size_t *ret_count,
                             size_t *ret_size)
{
    struct pieces pieces = {.array = base_alloc(4 * sizeof(*pieces.array)), .allocated = 4};
    const unsigned char *kept = message->data, *at = message->data;
    struct message_field field;

    while (fields == MESSAGE_NO_ENVELOPE && pieces.count < PIECES_MAX &&
           message_field_next(&at, message->data + message->header_size, &field)) {
        if (names_envelope(&field)) {
            add_piece(&pieces, kept, field.start);
            kept = at;
        }
    }
    add_piece(&pieces, kept, message->data + message->size);
    *ret_count = pieces.count;
    *ret_size = pieces.size;
    return pieces.array;
}
