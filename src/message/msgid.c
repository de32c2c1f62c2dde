/* SPDX-License-Identifier: ISC
 *
 * Reads the Message-ID in a single pass. A mail library's decoder maps distinct ids to one. */
#include "message/message_internal.h"

#include <string.h>

#include "message/message_field.h"

/* Nested, with quoted pairs (RFC 5322, 3.2.2). */
struct comment {
    size_t depth;
    bool quoted;
};

static bool in_comment(struct comment *comment, char c)
{
    if (comment->depth == 0 && c != '(')
        return false;
    if (comment->quoted)
        comment->quoted = false;
    else if (c == '\\')
        comment->quoted = true;
    else if (c == '(')
        comment->depth++;
    else if (c == ')')
        comment->depth--;
    return true;
}

static const char *find_open(const char *value, const char *end)
{
    struct comment comment = {0};

    for (; value < end; value++)
        if (!in_comment(&comment, *value) && *value == '<')
            return value;
    return NULL;
}

/* Returns the '>' that only comments and blanks follow, or else the last '>'. */
static const char *find_close(const char *id, const char *end)
{
    const char *close = NULL;
    struct comment comment = {0};

    for (const char *at = id; at < end; at++) {
        if (close != NULL && in_comment(&comment, *at))
            continue;
        if (*at == '>')
            close = at;
        else if (!message_is_white(*at))
            close = NULL;
    }
    return close != NULL && comment.depth == 0 ? close : memrchr(id, '>', (size_t)(end - id));
}

static void find_id(const struct message_field *field, struct message *message)
{
    const char *end = field->value + field->value_length;
    const char *open = find_open(field->value, end);
    const char *close = open != NULL ? find_close(open + 1, end) : NULL;

    for (const char *at = open; close != NULL && at + 1 < close; at++) {
        if (!message_is_white(at[1])) {
            message->id_bytes = open + 1;
            message->id_size = (size_t)(close - open - 1);
            return;
        }
    }
}

static void copy_id(struct message *message)
{
    const char *at = message->id_bytes, *piece;
    size_t max = message->id_size < MESSAGE_ID_MAX ? message->id_size : MESSAGE_ID_MAX, size;

    if (at == NULL)
        return;
    /* a single piece is not folded */
    message->message_id_folded = message_field_piece(&at, at + message->id_size, &piece, &size) &&
                                 size < message->id_size;
    message->message_id = message_field_unfold(message->id_bytes, max, &message->message_id_length);
}

void msgid_read(const unsigned char *header, size_t size, struct message *message)
{
    struct message_field field;

    for (const unsigned char *at = header; message_field_next(&at, header + size, &field);) {
        /* a damaged id counts as missing: later fields do not repair it */
        if (message_field_is(&field, "Message-ID") && ++message->message_id_count == 1)
            find_id(&field, message);
    }
    copy_id(message);
}
