/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger_report.h"
#include "message/message_builder.h"
#include "replay/replay_files.h"
#include "replay/replay_open.h"

/* *ret_met: some lines look quoted. */
static bool feed_item(struct message_builder *builder, int fd, const struct replay_item *item,
                      enum mbox_quoting quoting, bool *ret_met, struct fault *fault)
{
    char chunk[65536];
    struct mbox_unquote unquote = {.quoting = quoting};
    g_autoptr(GString) plain = g_string_new(NULL);
    bool in_mbox = item->number > 0;
    int64_t at = item->at.offset, end = in_mbox ? item->at.offset + item->at.size : INT64_MAX;
    while (at < end) {
        size_t room = end - at < (int64_t)sizeof(chunk) ? (size_t)(end - at) : sizeof(chunk);
        ssize_t n = TEMP_FAILURE_RETRY(pread(fd, chunk, room, at));
        if (n < 0 || (n == 0 && in_mbox))
            return fault_set(fault, n < 0 ? "cannot be read: %m" : "it was truncated while being read");
        if (n == 0)
            break;
        at += n;
        g_string_truncate(plain, 0);
        mbox_unquote_feed(&unquote, chunk, (size_t)n, plain);
        if (!message_builder_feed(builder, plain->str, plain->len, fault))
            return false;
    }
    g_string_truncate(plain, 0);
    mbox_unquote_end(&unquote, plain);
    *ret_met = unquote.met;
    return message_builder_feed(builder, plain->str, plain->len, fault);
}

static enum replay_load read_as(struct replay_worker *worker, int fd, const struct replay_item *item,
                                enum mbox_quoting quoting, struct message **ret, bool *ret_met, struct fault *fault)
{
    const struct config *config = worker->setup->config;
    struct message_builder *builder OD_CLEANUP(message_builder_free) =
        message_builder_new((size_t)config->delivery.size_limit, (const char *const *)config->identity.ignore);
    if (item->number > 0)
        message_builder_no_from_line(builder);
    if (!feed_item(builder, fd, item, quoting, ret_met, fault))
        return REPLAY_TROUBLE;
    enum message_result result = message_builder_end(builder, ret, fault);
    return result == MESSAGE_OK ? REPLAY_LOADED : result == MESSAGE_TROUBLE ? REPLAY_TROUBLE : REPLAY_BAD;
}

static bool find_known(struct replay_worker *worker, const struct message *message, bool *ret, struct fault *fault)
{
    struct ledger *ledger = replay_task_ledger(worker, fault);
    return ledger != NULL && ledger_knows(ledger, message->digest, ret, fault);
}

/* Quoted lines may be the author's: prefers the reading delivered before. */
static enum replay_load read_item(struct replay_worker *worker, int fd, const struct replay_item *item,
                                  struct message **ret, struct fault *fault)
{
    static const enum mbox_quoting all[] = {MBOX_PLAIN, MBOX_O, MBOX_RD};
    enum mbox_quoting likely = item->number > 0 ? item->file->quoting : MBOX_PLAIN;
    bool met = false, known = false;
    struct message *message OD_CLEANUP(message_free) = NULL;
    enum replay_load load = read_as(worker, fd, item, likely, &message, &met, fault);
    if (load != REPLAY_LOADED)
        return load;
    bool one_reading = !met || item->number == 0;
    if (!one_reading && !find_known(worker, message, &known, fault))
        return REPLAY_TROUBLE;
    for (size_t i = 0; !one_reading && !known && i < G_N_ELEMENTS(all); i++) {
        struct message *other OD_CLEANUP(message_free) = NULL;
        if (all[i] == likely || read_as(worker, fd, item, all[i], &other, &met, fault) != REPLAY_LOADED)
            continue;
        if (!find_known(worker, other, &known, fault))
            return REPLAY_TROUBLE;
        if (known) {
            message_free(&message);
            message = g_steal_pointer(&other);
        }
    }
    *ret = g_steal_pointer(&message);
    return REPLAY_LOADED;
}

enum replay_load replay_files_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                   struct fault *fault)
{
    const struct replay_files *files = worker->setup->context;
    const struct replay_item *item = &g_array_index(files->items, struct replay_item, number);
    int opened OD_CLEANUP(base_close) = -1, fd = item->file->fd;
    if (fd < 0)
        fd = opened = replay_open(item->file->path, files->as_root, fault);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? REPLAY_BAD : REPLAY_TROUBLE;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        fault_set(fault, "is a directory now");
        return REPLAY_BAD;
    }
    enum replay_load load = read_item(worker, fd, item, &ret->message, fault);
    return load != REPLAY_LOADED ? load
                                 : replay_envelope_complete(worker, &files->envelope, item->at.from_time, ret, fault);
}
