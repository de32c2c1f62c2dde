/* SPDX-License-Identifier: ISC */

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "message/message_field.h"
#include "message/message_internal.h"

#define READ_SIZE ((size_t)1 << 16)
#define VALUE_MAX ((size_t)1 << 20)  /* longest copy of a field value */
#define PIECES_MAX ((size_t)1 << 16) /* 1 MiB of them: a message may consist of fields to leave out */

/* Like read(2), but waits if another process made the descriptor non-blocking. */
static ssize_t read_blocking(int fd, void *buffer, size_t size)
{
    ssize_t n;

    while ((n = read(fd, buffer, size)) < 0 && (errno == EINTR || errno == EAGAIN))
        (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1); /* the next read reports errors */
    return n;
}

static bool read_to_end(struct message_builder *builder, int fd, struct error *error)
{
    unsigned char *buffer OD_CLEANUP(base_free) = base_alloc(READ_SIZE);
    ssize_t n;

    while ((n = read_blocking(fd, buffer, READ_SIZE)) > 0)
        if (!message_builder_feed(builder, buffer, (size_t)n, error))
            return false;
    if (n < 0)
        error_set(error, "cannot read the message: %s", strerror(errno));
    return n == 0;
}

enum message_result message_read(int fd, size_t size_limit, const char *const *ignore, struct message **ret,
                                 struct error *error)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(size_limit, ignore);

    if (!read_to_end(builder, fd, error))
        return MESSAGE_ERROR;
    return message_builder_end(builder, ret, error);
}

void message_identity(const char *namespace, const char *id, size_t id_length, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    struct sha256 sha256;
    const char *at = id, *piece;
    size_t length;

    sha256_begin(&sha256);
    sha256_feed(&sha256, namespace, strlen(namespace) + 1); /* with its NUL: no other split gives these bytes */
    while (message_field_piece(&at, id + id_length, &piece, &length))
        sha256_feed(&sha256, piece, length);
    sha256_end(&sha256, ret);
}

void message_own_identity(const struct message *message, const char *namespace, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    char digest[2 * MESSAGE_DIGEST_SIZE + 1];

    base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
    if (message->id_bytes != NULL)
        message_identity(namespace, message->id_bytes, message->id_size, ret);
    else
        message_identity(namespace, digest, strlen(digest), ret);
}

int64_t message_lock_key(const unsigned char identity[MESSAGE_DIGEST_SIZE])
{
    uint64_t key = 0;

    for (size_t i = 0; i < sizeof(key); i++)
        key = key << 8 | identity[i];
    return (int64_t)key;
}

char *message_header(const struct message *message, const char *name)
{
    struct message_field field;
    size_t length;

    if (!message_field_find(message->data, message->header_size, name, &field))
        return NULL;
    const char *value = field.value, *end = value + field.value_length;
    while (value < end && message_is_white(*value))
        value++;
    return g_strchomp(message_field_unfold(value, MIN((size_t)(end - value), VALUE_MAX), &length));
}

static size_t add_piece(GArray *pieces, const unsigned char *start, const unsigned char *end)
{
    struct iovec piece = {.iov_len = (size_t)(end - start)};

    memcpy(&piece.iov_base, &start, sizeof(start)); /* struct iovec has no const pointer */
    if (piece.iov_len > 0)
        g_array_append_val(pieces, piece);
    return piece.iov_len;
}

static bool is_left_out(const struct message_field *field, enum message_fields fields)
{
    return (fields == MESSAGE_NO_ENVELOPE && message_field_is(field, "Return-Path")) ||
           message_field_is(field, "Delivered-To") || message_field_is(field, "X-Original-To");
}

struct iovec *message_pieces(const struct message *message, enum message_fields fields, size_t *ret_count,
                             size_t *ret_size)
{
    GArray *pieces = g_array_sized_new(FALSE, FALSE, sizeof(struct iovec), 4);
    const unsigned char *kept = message->data, *at = message->data;
    struct message_field field;

    *ret_size = 0;
    while (fields != MESSAGE_ALL_FIELDS && pieces->len < PIECES_MAX &&
           message_field_next(&at, message->data + message->header_size, &field)) {
        if (is_left_out(&field, fields)) {
            *ret_size += add_piece(pieces, kept, field.start);
            kept = at;
        }
    }
    *ret_size += add_piece(pieces, kept, message->data + message->size);
    *ret_count = pieces->len;
    return (void *)g_array_free(pieces, FALSE);
}
