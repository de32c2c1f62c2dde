/* SPDX-License-Identifier: ISC
 *
 * Reads a message, and computes its identity. */
#include "message/message.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "message/message_builder.h"
#include "message/message_digest.h"
#include "message/message_store.h"
#include "message/msgid.h"

#define READ_SIZE ((size_t)1 << 16)

/* Like read(2), but waits if another process made the shared descriptor non-blocking. */
static ssize_t read_some(int fd, void *buffer, size_t size)
{
    for (;;) {
        ssize_t n = read(fd, buffer, size);

        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
        if (errno == EAGAIN) {
            struct pollfd readable = {.fd = fd, .events = POLLIN};

            /* whatever poll reports, the next read will show */
            (void)poll(&readable, 1, -1);
        }
    }
}

static bool read_all(struct message_builder *builder, int fd, struct fault *fault)
{
    unsigned char *buffer OD_CLEANUP(base_free) = base_alloc(READ_SIZE);
    ssize_t n;

    while ((n = read_some(fd, buffer, READ_SIZE)) > 0)
        if (!message_builder_feed(builder, buffer, (size_t)n, fault))
            return false;
    if (n < 0)
        fault_set(fault, "cannot read the message: %s", strerror(errno));
    return n == 0;
}

enum message_result message_read(int fd, size_t size_limit, const char *const *ignore, struct message **ret,
                                 struct fault *fault)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(size_limit, ignore);

    if (!read_all(builder, fd, fault))
        return MESSAGE_TROUBLE;
    return message_builder_end(builder, ret, fault);
}

enum message_result message_from_bytes(const void *bytes, size_t size, size_t size_limit, const char *const *ignore,
                                       struct message **ret, struct fault *fault)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(size_limit, ignore);

    if (!message_builder_feed(builder, bytes, size, fault))
        return MESSAGE_TROUBLE;
    return message_builder_end(builder, ret, fault);
}

void message_free(struct message **message)
{
    if (*message == NULL)
        return;
    message_store_free(&(*message)->store);
    base_free(&(*message)->message_id);
    base_free(message);
}

bool message_same_content(const struct message *message, const void *bytes, size_t size, const char *const *ignore)
{
    struct message_digest *digest OD_CLEANUP(message_digest_free) = message_digest_new(ignore);
    unsigned char other[MESSAGE_DIGEST_SIZE];

    message_digest_feed(digest, bytes, size);
    message_digest_end(digest, other);
    return memcmp(other, message->digest, sizeof(other)) == 0;
}

static GChecksum *begin_identity(const char *namespace)
{
    GChecksum *sha256 = g_checksum_new(G_CHECKSUM_SHA256);

    /* including its NUL, so that no other split of the two gives the same bytes */
    g_checksum_update(sha256, (const guchar *)namespace, (gssize)strlen(namespace) + 1);
    return sha256;
}

void message_identity(const char *namespace, const char *id, size_t id_length, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    GChecksum *sha256 = begin_identity(namespace);
    gsize size = MESSAGE_DIGEST_SIZE;

    g_checksum_update(sha256, (const guchar *)id, (gssize)id_length);
    g_checksum_get_digest(sha256, ret, &size);
    g_checksum_free(sha256);
}

void message_own_identity(const struct message *message, const char *namespace, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    char digest[2 * MESSAGE_DIGEST_SIZE + 1];
    GChecksum *sha256;
    gsize size = MESSAGE_DIGEST_SIZE;

    if (message->id_bytes == NULL) {
        base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
        message_identity(namespace, digest, strlen(digest), ret);
        return;
    }
    sha256 = begin_identity(namespace);
    msgid_hash(sha256, message->id_bytes, message->id_size);
    g_checksum_get_digest(sha256, ret, &size);
    g_checksum_free(sha256);
}

int64_t message_lock_key(const unsigned char identity[MESSAGE_DIGEST_SIZE])
{
    uint64_t key = 0;

    for (size_t i = 0; i < sizeof(key); i++)
        key = key << 8 | identity[i];
    return (int64_t)key;
}
