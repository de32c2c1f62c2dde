/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>

#include "message/message_field.h"
#include "message/message_internal.h"

#define CHUNK_SIZE ((size_t)1 << 16)
#define MEMORY_MAX ((size_t)1 << 20)

/* The bytes of a message: in memory; more than MEMORY_MAX in a temp file in TMPDIR (default /tmp), mapped at the end. */
struct message_store {
    GByteArray *memory; /* NULL once the file is used */
    int fd;
    void *map;
    size_t size;
};

static struct message_store *store_new(void)
{
    struct message_store *store = base_alloc(sizeof(*store));

    store->memory = g_byte_array_new();
    store->fd = -1;
    return store;
}

static bool move_to_file(struct message_store *store, struct error *error)
{
    store->fd = tempfile_open();
    if (store->fd < 0)
        return tempfile_error(error, "make a", errno);
    if (!base_write(store->fd, store->memory->data, store->size))
        return tempfile_error(error, "write the", errno);
    g_clear_pointer(&store->memory, g_byte_array_unref);
    return true;
}

static bool store_append(struct message_store *store, const unsigned char *bytes, size_t size, struct error *error)
{
    if (size == 0)
        return true;
    if (store->fd < 0 && store->size + size <= MEMORY_MAX) {
        g_byte_array_append(store->memory, bytes, (guint)size);
    } else {
        if (store->fd < 0 && !move_to_file(store, error))
            return false;
        if (!base_write(store->fd, bytes, size))
            return tempfile_error(error, "write the", errno);
    }
    store->size += size;
    return true;
}

/* Returns the bytes of a store that is not empty, valid until it is freed; NULL: they cannot be mapped. */
static const unsigned char *store_finish(struct message_store *store, struct error *error)
{
    if (store->fd < 0)
        return store->memory->data;
    void *map = mmap(NULL, store->size, PROT_READ, MAP_PRIVATE, store->fd, 0);
    if (map == MAP_FAILED) {
        tempfile_error(error, "map the", errno);
        return NULL;
    }
    store->map = map;
    base_close(&store->fd);
    return map;
}

static void store_free(struct message_store **store)
{
    if (*store == NULL)
        return;
    if ((*store)->map != NULL)
        munmap((*store)->map, (*store)->size);
    base_close(&(*store)->fd);
    g_clear_pointer(&(*store)->memory, g_byte_array_unref);
    base_free(store);
}

static const unsigned char from_line[] = ">From ";

#define FROM_LINE_LENGTH (sizeof(from_line) - 1)

size_t message_eol_end(struct message_eol *eol, unsigned char *out)
{
    size_t held = eol->matched - eol->start;

    if (eol->state != MESSAGE_EOL_FIRST_LINE)
        return 0;
    memcpy(out, from_line + eol->start, held);
    eol->state = MESSAGE_EOL_REST;
    return held;
}

/* Returns true if the byte matches a From_ line: it is held back or dropped. */
static bool match_from_line(struct message_eol *eol, unsigned char byte)
{
    if (eol->matched == 0 && byte == 'F')
        eol->start = eol->matched = 1;
    if (byte != from_line[eol->matched])
        return false;
    if (++eol->matched == FROM_LINE_LENGTH)
        eol->state = MESSAGE_EOL_FROM_LINE;
    return true;
}

static void copy_without_nul(unsigned char *out, const unsigned char *in, size_t size)
{
    unsigned char *end = out + size;

    memcpy(out, in, size);
    while ((out = memchr(out, '\0', (size_t)(end - out))) != NULL)
        *out++ = 0x80;
}

static size_t copy_lines(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out)
{
    unsigned char *start = out;

    while (size > 0) {
        const unsigned char *lf = memchr(in, '\n', size);
        size_t length = lf != NULL ? (size_t)(lf - in) : size;

        copy_without_nul(out, in, length);
        out += length;
        if (length > 0)
            eol->after_cr = in[length - 1] == '\r';
        if (lf == NULL)
            break;
        if (!eol->after_cr)
            *out++ = '\r';
        *out++ = '\n';
        eol->after_cr = false;
        in = lf + 1;
        size -= length + 1;
    }
    return (size_t)(out - start);
}

size_t message_eol_feed(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out)
{
    const unsigned char *end = in + size;
    size_t n = 0;

    while (in < end && eol->state == MESSAGE_EOL_FIRST_LINE) {
        if (match_from_line(eol, *in))
            in++;
        else
            n = message_eol_end(eol, out);
    }
    if (in < end && eol->state == MESSAGE_EOL_FROM_LINE) {
        const unsigned char *lf = memchr(in, '\n', (size_t)(end - in));

        if (lf == NULL)
            return n;
        eol->state = MESSAGE_EOL_REST;
        in = lf + 1;
    }
    return n + copy_lines(eol, in, (size_t)(end - in), out + n);
}

struct message_builder {
    size_t size_limit;
    size_t received_size;
    size_t size; /* as appended */
    bool too_large;
    bool failed;
    struct error error;
    struct message_eol eol;
    struct message_digest *digest;
    struct message_store *store;
    unsigned char *chunk; /* [MESSAGE_EOL_ROOM(CHUNK_SIZE)] */
};

struct message_builder *message_builder_new(size_t size_limit, const char *const *ignore)
{
    struct message_builder *builder = base_alloc(sizeof(*builder));

    builder->chunk = base_realloc(NULL, MESSAGE_EOL_ROOM(CHUNK_SIZE)); /* not zeroed: larger than most messages */
    builder->size_limit = size_limit;
    builder->digest = message_digest_new(ignore);
    builder->store = store_new();
    return builder;
}

void message_builder_no_from_line(struct message_builder *builder)
{
    builder->eol.state = MESSAGE_EOL_REST;
}

static bool store_chunk(struct message_builder *builder, size_t n, struct error *error)
{
    builder->size += n;
    if (builder->size_limit > 0 && builder->size > builder->size_limit) {
        builder->too_large = true;
        store_free(&builder->store);
        return true;
    }
    message_digest_feed(builder->digest, builder->chunk, n);
    return store_append(builder->store, builder->chunk, n, error);
}

bool message_builder_feed(struct message_builder *builder, const void *bytes, size_t size, struct error *error)
{
    const unsigned char *at = bytes;

    builder->received_size += size;
    while (size > 0 && !builder->too_large && !builder->failed) {
        size_t n = size < CHUNK_SIZE ? size : CHUNK_SIZE;

        builder->failed =
            !store_chunk(builder, message_eol_feed(&builder->eol, at, n, builder->chunk), &builder->error);
        at += n;
        size -= n;
    }
    if (builder->failed)
        *error = builder->error;
    return !builder->failed;
}

static struct message *finished_message(struct message_builder *builder, const unsigned char *data)
{
    struct message *message = base_alloc(sizeof(*message));

    message->data = data;
    message->size = builder->size;
    message->received_size = builder->received_size;
    message->header_size = message_field_header_size(data, builder->size);
    message->content_size = message_digest_end(builder->digest, message->digest);
    msgid_read(data, message->header_size, message);
    message->store = builder->store;
    builder->store = NULL;
    return message;
}

enum message_result message_builder_end(struct message_builder *builder, struct message **ret, struct error *error)
{
    if (builder->failed) {
        *error = builder->error;
        return MESSAGE_ERROR;
    }
    if (!builder->too_large && !store_chunk(builder, message_eol_end(&builder->eol, builder->chunk), error))
        return MESSAGE_ERROR;
    if (builder->too_large) {
        error_set(error, "message is larger than delivery.size_limit (%zu bytes)", builder->size_limit);
        return MESSAGE_TOO_LARGE;
    }
    if (builder->size == 0) {
        error_set(error, "the message is empty: nothing to read (%zu bytes)", builder->received_size);
        return MESSAGE_EMPTY;
    }
    const unsigned char *data = store_finish(builder->store, error);
    if (data == NULL)
        return MESSAGE_ERROR;
    *ret = finished_message(builder, data);
    return MESSAGE_OK;
}

void message_builder_free(struct message_builder **builder)
{
    if (*builder == NULL)
        return;
    message_digest_free(&(*builder)->digest);
    store_free(&(*builder)->store);
    base_free(&(*builder)->chunk);
    base_free(builder);
}

void message_free(struct message **message)
{
    if (*message == NULL)
        return;
    store_free(&(*message)->store);
    base_free(&(*message)->message_id);
    base_free(message);
}
