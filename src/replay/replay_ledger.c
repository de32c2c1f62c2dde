/* SPDX-License-Identifier: ISC */
#include "replay/replay.h"

#include <inttypes.h>
#include <string.h>

#include "ledger/ledger_query.h"

static bool next_ids(struct replay_ledger *source, int64_t last, struct error *error)
{
    size_t max = G_N_ELEMENTS(source->ids);
    if (source->stored)
        return ledger_stored_ids(source->ledger, source->account, source->since, last, max, source->ids, &source->count,
                                 error);
    return ledger_unfinished_ids(source->ledger, last, max, source->ids, &source->count, error);
}

bool replay_ledger_next(void *context, char **ret_name, int64_t *ret_number, struct error *error)
{
    struct replay_ledger *source = context;
    if (source->at == source->count) {
        int64_t last = source->count > 0 ? source->ids[source->count - 1] : 0;
        source->at = source->count = 0;
        if (!next_ids(source, last, error) || source->count == 0)
            return false;
    }
    *ret_number = source->ids[source->at++];
    *ret_name = base_printf("message %" PRId64, *ret_number);
    return true;
}

static bool feed_raw(void *context, const void *bytes, size_t size, struct error *error)
{
    return message_builder_feed(context, bytes, size, error);
}

static struct message_builder *new_builder(const struct replay_worker *worker)
{
    const char *const *ignore = (const char *const *)worker->setup->config->identity.ignore_headers;
    struct message_builder *builder = message_builder_new(0, ignore);
    message_builder_no_from_line(builder);
    return builder;
}

/* Removes the fields that name another recipient, who must stay hidden, but not Return-Path. */
static bool hide_recipient(struct replay_worker *worker, struct message **message, struct error *error)
{
    struct message *plain = NULL;
    size_t count, size;
    struct iovec *pieces OD_CLEANUP(base_free) = message_pieces(*message, MESSAGE_NO_RECIPIENT, &count, &size);
    if (size == (*message)->size)
        return true;
    struct message_builder *builder OD_CLEANUP(message_builder_free) = new_builder(worker);
    bool fed = true;
    for (size_t i = 0; fed && i < count; i++)
        fed = message_builder_feed(builder, pieces[i].iov_base, pieces[i].iov_len, error);
    if (!fed || message_builder_end(builder, &plain, error) != MESSAGE_OK)
        return false;
    message_free(message);
    *message = plain;
    return true;
}

static enum replay_load read_recorded(struct replay_worker *worker, int64_t id, const unsigned char *digest,
                                      struct message **ret, struct error *error)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = new_builder(worker);
    struct message *message OD_CLEANUP(message_free) = NULL;
    if (!ledger_raw(worker->ledger, id, feed_raw, builder, error) ||
        message_builder_end(builder, &message, error) != MESSAGE_OK)
        return REPLAY_ERROR;
    if (memcmp(message->digest, digest, MESSAGE_DIGEST_SIZE) != 0) {
        error_set(error, "its recorded bytes do not match its digest (was identity.ignore_headers changed?)");
        return REPLAY_BAD;
    }
    if (!hide_recipient(worker, &message, error))
        return REPLAY_ERROR;
    *ret = g_steal_pointer(&message);
    return REPLAY_LOADED;
}

/* Builds a message with an id to search for, and the ledger's digest. */
static enum replay_load read_id(struct replay_worker *worker, const struct ledger_recorded *recorded,
                                struct message **ret, struct error *error)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = new_builder(worker);
    struct message *message OD_CLEANUP(message_free) = NULL;
    const char *id = recorded->message_id != NULL ? recorded->message_id : "";
    char *field OD_CLEANUP(base_free) = base_printf("Message-ID: <%s>\r\n\r\n", id);
    if (!message_builder_feed(builder, field, strlen(field), error) ||
        message_builder_end(builder, &message, error) != MESSAGE_OK)
        return REPLAY_ERROR;
    if (message->message_id == NULL || strcmp(message->message_id, id) != 0) {
        error_set(error, "its bytes are not recorded, and it has no Message-ID by which it could be looked for");
        return REPLAY_BAD;
    }
    memcpy(message->digest, recorded->digest, MESSAGE_DIGEST_SIZE);
    *ret = g_steal_pointer(&message);
    return REPLAY_LOADED;
}

enum replay_load replay_ledger_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                    struct error *error)
{
    const struct replay_ledger *source = worker->setup->context;
    enum ledger_part part = source->stored ? LEDGER_STORED : LEDGER_UNFINISHED;
    struct ledger_recorded *recorded OD_CLEANUP(ledger_recorded_free) = NULL;
    struct ledger *ledger = replay_task_ledger(worker, error);
    if (ledger == NULL || !ledger_recorded_read(ledger, number, part, &recorded, error))
        return REPLAY_ERROR;
    if (recorded == NULL)
        return REPLAY_NOTHING;
    enum replay_load load = recorded->has_bytes ? read_recorded(worker, number, recorded->digest, &ret->message, error)
                                                : read_id(worker, recorded, &ret->message, error);
    if (load != REPLAY_LOADED)
        return load;
    ret->id_only = !recorded->has_bytes;
    ret->sender = g_steal_pointer(&recorded->sender);
    ret->queue_id = g_steal_pointer(&recorded->queue_id);
    ret->recipients = g_steal_pointer(&recorded->recipients);
    ret->originals = g_steal_pointer(&recorded->originals);
    ret->sender_known = true;
    ret->sender_route.account = g_steal_pointer(&recorded->sent_account);
    ret->sender_route.sent = g_steal_pointer(&recorded->sent_mailbox);
    return REPLAY_LOADED;
}
