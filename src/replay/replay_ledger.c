/* SPDX-License-Identifier: ISC
 *
 * Lists unfinished messages by id, and makes messages of their recorded bytes. */
#include "replay/replay_ledger.h"

#include <inttypes.h>
#include <string.h>

#include "ledger/ledger_resume.h"
#include "message/message_builder.h"

#define BATCH 500

struct replay_ledger {
    struct ledger *ledger;
    int64_t ids[BATCH];
    size_t count, at;
    int64_t last;
    bool failed;
    struct fault fault;
};

struct replay_ledger *replay_ledger_new(struct ledger *ledger)
{
    struct replay_ledger *source = base_alloc(sizeof(*source));
    source->ledger = ledger;
    return source;
}

bool replay_ledger_next(void *context, char **ret_name, GVariant **ret_task)
{
    struct replay_ledger *source = context;
    if (source->at == source->count) {
        source->at = source->count = 0;
        source->failed =
            !ledger_unfinished_ids(source->ledger, source->last, BATCH, source->ids, &source->count, &source->fault);
    }
    if (source->failed || source->at == source->count)
        return false;
    source->last = source->ids[source->at++];
    *ret_name = base_printf("message %" PRId64, source->last);
    *ret_task = g_variant_new_int64(source->last);
    return true;
}

const char *replay_ledger_fault(const struct replay_ledger *source)
{
    return source->failed ? source->fault.text : NULL;
}

void replay_ledger_free(struct replay_ledger **source)
{
    base_free(source);
}

static bool feed_raw(void *context, const void *bytes, size_t size, struct fault *fault)
{
    return message_builder_feed(context, bytes, size, fault);
}

static struct message_builder *new_builder(const struct replay_worker *worker)
{
    const char *const *ignore = (const char *const *)worker->setup->config->identity.ignore;
    struct message_builder *builder = message_builder_new(0, ignore);
    message_builder_no_from_line(builder);
    return builder;
}

/* The bytes are those of the first delivery, perhaps to another recipient, whose identity is not for others to see.
 * Removes the fields that name a recipient; this also removes Return-Path, which is put back. */
static bool hide_recipient(struct replay_worker *worker, struct message **message, struct fault *fault)
{
    char *delivered_to OD_CLEANUP(base_free) = message_header(*message, "Delivered-To", NULL);
    char *original_to OD_CLEANUP(base_free) = message_header(*message, "X-Original-To", NULL);
    if (delivered_to == NULL && original_to == NULL)
        return true;
    struct message_builder *builder OD_CLEANUP(message_builder_free) = new_builder(worker);
    struct message *plain = NULL;
    size_t count, size;
    struct iovec *pieces OD_CLEANUP(base_free) = message_pieces(*message, MESSAGE_NO_ENVELOPE, &count, &size);
    char *path OD_CLEANUP(base_free) = message_header(*message, "Return-Path", NULL);
    char *field OD_CLEANUP(base_free) = base_printf("Return-Path: %s\r\n", path != NULL ? path : "");
    bool fed = path == NULL || message_builder_feed(builder, field, strlen(field), fault);
    for (size_t i = 0; fed && i < count; i++)
        fed = message_builder_feed(builder, pieces[i].iov_base, pieces[i].iov_len, fault);
    if (!fed || message_builder_end(builder, &plain, fault) != MESSAGE_OK)
        return false;
    message_free(message);
    *message = plain;
    return true;
}

static enum replay_load read_message(struct replay_worker *worker, int64_t id, const unsigned char *digest,
                                     struct message **ret, struct fault *fault)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = new_builder(worker);
    struct message *message OD_CLEANUP(message_free) = NULL;
    if (!ledger_raw(worker->ledger, id, feed_raw, builder, fault) ||
        message_builder_end(builder, &message, fault) != MESSAGE_OK)
        return REPLAY_TROUBLE;
    if (memcmp(message->digest, digest, MESSAGE_DIGEST_SIZE) != 0) {
        fault_set(fault, "its recorded bytes do not match its digest (was identity.ignore changed?)");
        return REPLAY_BAD;
    }
    if (!hide_recipient(worker, &message, fault))
        return REPLAY_TROUBLE;
    *ret = message;
    message = NULL;
    return REPLAY_LOADED;
}

/* Moves the strings of a list into an array that owns them. */
static GPtrArray *take_list(char **list)
{
    GPtrArray *array = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; list[i] != NULL; i++)
        g_ptr_array_add(array, g_strdup(list[i]));
    return array;
}

enum replay_load replay_ledger_load(struct replay_worker *worker, GVariant *task, struct replay_message *ret,
                                    struct fault *fault)
{
    struct ledger_unfinished *unfinished OD_CLEANUP(ledger_unfinished_free) = NULL;
    struct ledger *ledger = replay_task_ledger(worker, fault);
    int64_t id = g_variant_get_int64(task);
    if (ledger == NULL || !ledger_unfinished_read(ledger, id, &unfinished, fault))
        return REPLAY_TROUBLE;
    if (unfinished == NULL)
        return REPLAY_NOTHING;
    enum replay_load load = read_message(worker, id, unfinished->digest, &ret->message, fault);
    if (load != REPLAY_LOADED)
        return load;
    ret->sender = base_strdup(unfinished->sender);
    ret->queue_id = base_strdup(unfinished->queue_id);
    ret->recipients = take_list(unfinished->recipients);
    ret->originals = take_list(unfinished->originals);
    ret->sender_known = true;
    ret->sender_route.account = base_strdup(unfinished->sent_account);
    ret->sender_route.sent = base_strdup(unfinished->sent_mailbox);
    return REPLAY_LOADED;
}
