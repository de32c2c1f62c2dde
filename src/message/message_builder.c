/* SPDX-License-Identifier: ISC */

#include "message/message_field.h"
#include "message/message_internal.h"

#define CHUNK_SIZE ((size_t)1 << 16)

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
    builder->store = message_store_new();
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
        message_store_free(&builder->store);
        return true;
    }
    message_digest_feed(builder->digest, builder->chunk, n);
    return message_store_append(builder->store, builder->chunk, n, error);
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
        error_set(error, "no message: nothing to read (%zu bytes)", builder->received_size);
        return MESSAGE_EMPTY;
    }
    const unsigned char *data = message_store_finish(builder->store, error);
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
    message_store_free(&(*builder)->store);
    base_free(&(*builder)->chunk);
    base_free(builder);
}
