/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger_query.h"
#include "replay/replay_internal.h"

/* *ret_met: some lines look quoted. */
static bool feed_item(struct message_builder *builder, int fd, const struct replay_item *item,
                      enum mbox_dialect dialect, bool *ret_met, struct error *error)
{
    char chunk[65536];
    struct mbox_unquote unquote = {.dialect = dialect};
    g_autoptr(GString) plain = g_string_new(NULL);
    bool in_mbox = item->number > 0;
    int64_t at = item->at.offset, end = in_mbox ? item->at.offset + item->at.size : INT64_MAX;
    while (at < end) {
        size_t room = end - at < (int64_t)sizeof(chunk) ? (size_t)(end - at) : sizeof(chunk);
        ssize_t n = TEMP_FAILURE_RETRY(pread(fd, chunk, room, at));
        if (n < 0 || (n == 0 && in_mbox))
            return error_set(error, n < 0 ? "cannot be read: %m" : "it was truncated while being read");
        if (n == 0)
            break;
        at += n;
        g_string_truncate(plain, 0);
        mbox_unquote_feed(&unquote, chunk, (size_t)n, plain);
        if (!message_builder_feed(builder, plain->str, plain->len, error))
            return false;
    }
    g_string_truncate(plain, 0);
    mbox_unquote_end(&unquote, plain);
    *ret_met = unquote.met;
    return message_builder_feed(builder, plain->str, plain->len, error);
}

static enum replay_load read_as(struct replay_worker *worker, int fd, const struct replay_item *item,
                                enum mbox_dialect dialect, struct message **ret, bool *ret_met, struct error *error)
{
    const struct config *config = worker->setup->config;
    struct message_builder *builder OD_CLEANUP(message_builder_free) =
        message_builder_new((size_t)config->delivery.size_limit, (const char *const *)config->identity.ignore_headers);
    if (item->number > 0)
        message_builder_no_from_line(builder);
    if (!feed_item(builder, fd, item, dialect, ret_met, error))
        return REPLAY_ERROR;
    enum message_result result = message_builder_end(builder, ret, error);
    return result == MESSAGE_OK ? REPLAY_LOADED : result == MESSAGE_ERROR ? REPLAY_ERROR : REPLAY_BAD;
}

static bool find_known(struct replay_worker *worker, const struct message *message, bool *ret, struct error *error)
{
    struct ledger *ledger = replay_task_ledger(worker, error);
    return ledger != NULL && ledger_knows(ledger, message->digest, ret, error);
}

/* Quoted lines may be the author's (mboxo), or of another dialect: prefers the reading delivered before. */
static enum replay_load read_item(struct replay_worker *worker, int fd, const struct replay_item *item,
                                  enum mbox_dialect dialect, struct message **ret, struct error *error)
{
    static const enum mbox_dialect all[] = {MBOX_RD, MBOX_O, MBOX_CL2};
    enum mbox_dialect declared = item->number > 0 ? dialect : MBOX_CL2;
    bool met = false, known = false;
    struct message *message OD_CLEANUP(message_free) = NULL;
    enum replay_load load = read_as(worker, fd, item, declared, &message, &met, error);
    if (load != REPLAY_LOADED)
        return load;
    bool one_reading = !met || item->number == 0;
    if (!one_reading && !find_known(worker, message, &known, error))
        return REPLAY_ERROR;
    for (size_t i = 0; !one_reading && !known && i < G_N_ELEMENTS(all); i++) {
        struct message *other OD_CLEANUP(message_free) = NULL;
        if (all[i] == declared || read_as(worker, fd, item, all[i], &other, &met, error) != REPLAY_LOADED)
            continue;
        if (!find_known(worker, other, &known, error))
            return REPLAY_ERROR;
        if (known) {
            message_free(&message);
            message = g_steal_pointer(&other);
        }
    }
    *ret = g_steal_pointer(&message);
    return REPLAY_LOADED;
}

enum replay_load replay_files_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                   struct error *error)
{
    const struct replay_files *files = worker->setup->context;
    const struct replay_item *item = &g_array_index(files->items, struct replay_item, number);
    int opened OD_CLEANUP(base_close) = -1, fd = item->file->fd;
    if (fd < 0)
        fd = opened = replay_open(item->file->path, files->as_root, error);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? REPLAY_BAD : REPLAY_ERROR;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        error_set(error, "is a directory now");
        return REPLAY_BAD;
    }
    enum replay_load load = read_item(worker, fd, item, files->dialect, &ret->message, error);
    return load != REPLAY_LOADED ? load
                                 : replay_envelope_complete(worker, &files->envelope, item->at.from_time, ret, error);
}
