/* SPDX-License-Identifier: ISC
 *
 * The Message-ID. We have a parser of our own because a mail library's decoder maps distinct ids to one. It takes a
 * single pass over any input. */
#include "message/msgid.h"

#include <string.h>

#include "message/message_field.h"

/* Comments (RFC 5322, 3.2.2): nested, with quoted pairs. */
struct comment {
    size_t depth;
    bool quoted;
};

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* True when the character belongs to a comment. */
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

/* The '>' that is followed only by comments and blanks; if there is none, the last '>'. */
static const char *find_close(const char *id, const char *end)
{
    const char *close = NULL;
    struct comment comment = {0};

    for (const char *at = id; at < end; at++) {
        if (close != NULL && in_comment(&comment, *at))
            continue;
        if (*at == '>')
            close = at;
        else if (!is_white(*at))
            close = NULL;
    }
    return close != NULL && comment.depth == 0 ? close : memrchr(id, '>', (size_t)(end - id));
}

/* Sets bytes and size, and returns true, if there is an id. */
static bool find_id(const char *value, size_t length, struct msgid *ret)
{
    const char *end = value + length;
    const char *open = find_open(value, end);
    const char *close = open != NULL ? find_close(open + 1, end) : NULL;
    const char *first = open != NULL ? open + 1 : NULL;

    while (close != NULL && first < close && is_white(*first))
        first++;
    if (close == NULL || first == close)
        return false;
    ret->bytes = open + 1;
    ret->size = (size_t)(close - open - 1);
    return true;
}

static void copy_id(struct msgid *id)
{
    const char *at = id->bytes, *first;
    size_t size;

    /* the first piece is all of what is not folded */
    id->folded = message_field_piece(&at, id->bytes + id->size, &first, &size) && size < id->size;
    id->id = message_field_unfold(id->bytes, id->size < MESSAGE_ID_MOST ? id->size : MESSAGE_ID_MOST, &id->length);
}

bool msgid_parse(const char *value, size_t length, char **ret, size_t *ret_length, bool *ret_folded)
{
    struct msgid id = {0};

    if (!find_id(value, length, &id))
        return false;
    copy_id(&id);
    *ret = id.id;
    *ret_length = id.length;
    *ret_folded = id.folded;
    return true;
}

void msgid_of_header(const unsigned char *header, size_t size, struct msgid *ret)
{
    struct message_field field;
    struct msgid id = {0};

    for (const unsigned char *at = header; message_field_next(&at, header + size, &field);) {
        if (!message_field_is(&field, "Message-ID"))
            continue;
        /* a damaged id counts as missing: a later field does not repair the first */
        if (++id.count == 1 && find_id(field.value, field.value_length, &id))
            copy_id(&id);
    }
    *ret = id;
}

void msgid_hash(GChecksum *sha256, const char *bytes, size_t size)
{
    const char *at = bytes, *piece;
    size_t length;

    while (message_field_piece(&at, bytes + size, &piece, &length))
        g_checksum_update(sha256, (const guchar *)piece, (gssize)length);
}

static bool same_hash(const struct message *message, const struct msgid *other)
{
    GChecksum *checksums[] = {g_checksum_new(G_CHECKSUM_SHA256), g_checksum_new(G_CHECKSUM_SHA256)};
    bool same;

    msgid_hash(checksums[0], message->id_bytes, message->id_size);
    msgid_hash(checksums[1], other->bytes, other->size);
    same = strcmp(g_checksum_get_string(checksums[0]), g_checksum_get_string(checksums[1])) == 0;
    g_checksum_free(checksums[0]);
    g_checksum_free(checksums[1]);
    return same;
}

bool message_has_id(const void *header, size_t size)
{
    struct msgid id;

    msgid_of_header(header, size, &id);
    bool has = id.id != NULL;
    base_free(&id.id);
    return has;
}

bool message_same_id(const struct message *message, const void *header, size_t size)
{
    struct msgid other;
    bool same;

    msgid_of_header(header, size, &other);
    same = message->message_id != NULL && other.id != NULL && other.length == message->message_id_length &&
           memcmp(other.id, message->message_id, other.length) == 0;
    if (same && (message->id_size > MESSAGE_ID_MOST || other.size > MESSAGE_ID_MOST)) /* the copies may be cut */
        same = same_hash(message, &other);
    base_free(&other.id);
    return same;
}
