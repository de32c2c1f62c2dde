/* SPDX-License-Identifier: ISC
 *
 * A worker's side of messages in files. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger_report.h"
#include "message/message_builder.h"
#include "replay/replay_envelope.h"
#include "replay/replay_files.h"
#include "replay/replay_mbox.h"
#include "replay/replay_open.h"

/* A task, as made by replay_files_next. */
struct place {
    const char *path;
    int fd; /* of the file; -1: to be opened */
    gboolean as_root;
    int64_t offset, size, from_time;
    bool in_mbox;
    enum mbox_quoting quoting;
};

static struct place place_of(GVariant *task)
{
    struct place place;
    guint32 quoting;
    g_variant_get(task, "(^&ayibxxxu)", &place.path, &place.fd, &place.as_root, &place.offset, &place.size,
                  &place.from_time, &quoting);
    place.in_mbox = quoting > 0;
    place.quoting = quoting > 0 ? (enum mbox_quoting)(quoting - 1) : MBOX_PLAIN;
    return place;
}

/* Feeds the bytes of the message, unquoted. *ret_met: it has lines that look quoted. */
static bool feed_place(struct message_builder *builder, int fd, const struct place *place, enum mbox_quoting quoting,
                       bool *ret_met, struct fault *fault)
{
    char chunk[65536];
    struct mbox_unquote unquote = {.quoting = quoting};
    GString *plain = g_string_new(NULL);
    int64_t at = place->offset, end = place->in_mbox ? place->offset + place->size : INT64_MAX;
    bool good = true;
    while (good && at < end) {
        size_t room = end - at < (int64_t)sizeof(chunk) ? (size_t)(end - at) : sizeof(chunk);
        ssize_t n = TEMP_FAILURE_RETRY(pread(fd, chunk, room, at));
        if (n < 0 || (n == 0 && place->in_mbox)) {
            fault_set(fault, n < 0 ? "cannot be read: %m" : "it was truncated while being read");
            good = false;
        }
        if (n <= 0)
            break;
        at += n;
        g_string_truncate(plain, 0);
        mbox_unquote_feed(&unquote, chunk, (size_t)n, plain);
        good = message_builder_feed(builder, plain->str, plain->len, fault);
    }
    g_string_truncate(plain, 0);
    mbox_unquote_end(&unquote, plain);
    good = good && message_builder_feed(builder, plain->str, plain->len, fault);
    g_string_free(plain, TRUE);
    *ret_met = unquote.met;
    return good;
}

static enum replay_load read_as(struct replay_worker *worker, int fd, const struct place *place,
                                enum mbox_quoting quoting, struct message **ret, bool *ret_met, struct fault *fault)
{
    const struct config *config = worker->setup->config;
    struct message_builder *builder OD_CLEANUP(message_builder_free) =
        message_builder_new((size_t)config->delivery.size_limit, (const char *const *)config->identity.ignore);
    if (place->in_mbox)
        message_builder_no_from_line(builder);
    if (!feed_place(builder, fd, place, quoting, ret_met, fault))
        return REPLAY_TROUBLE;
    switch (message_builder_end(builder, ret, fault)) {
    case MESSAGE_OK:
        return REPLAY_LOADED;
    case MESSAGE_EMPTY:
    case MESSAGE_TOO_LARGE:
        return REPLAY_BAD;
    case MESSAGE_TROUBLE:
        break;
    }
    return REPLAY_TROUBLE;
}

static bool find_known(struct replay_worker *worker, const struct message *message, bool *ret, struct fault *fault)
{
    struct ledger *ledger = replay_task_ledger(worker, fault);
    return ledger != NULL && ledger_knows(ledger, message->digest, ret, fault);
}

/* Lines that look quoted may be the author's own. Of the three readings, the one that was delivered before is right. */
static enum replay_load read_message(struct replay_worker *worker, int fd, const struct place *place,
                                     struct message **ret, struct fault *fault)
{
    static const enum mbox_quoting all[] = {MBOX_PLAIN, MBOX_O, MBOX_RD};
    bool met, known = false;
    struct message *message OD_CLEANUP(message_free) = NULL;
    enum replay_load load = read_as(worker, fd, place, place->quoting, &message, &met, fault);
    if (load != REPLAY_LOADED)
        return load;
    bool one_reading = !met || !place->in_mbox;
    if (!one_reading && !find_known(worker, message, &known, fault))
        return REPLAY_TROUBLE;
    for (size_t i = 0; !one_reading && !known && i < G_N_ELEMENTS(all); i++) {
        struct message *other OD_CLEANUP(message_free) = NULL;
        if (all[i] == place->quoting || read_as(worker, fd, place, all[i], &other, &met, fault) != REPLAY_LOADED)
            continue;
        if (!find_known(worker, other, &known, fault))
            return REPLAY_TROUBLE;
        if (known) {
            message_free(&message);
            message = other;
            other = NULL;
        }
    }
    *ret = message;
    message = NULL;
    return REPLAY_LOADED;
}

enum replay_load replay_files_load(struct replay_worker *worker, GVariant *task, struct replay_message *ret,
                                   struct fault *fault)
{
    struct place place = place_of(task);
    int opened OD_CLEANUP(base_close) = place.fd >= 0 ? -1 : replay_open(place.path, place.as_root, fault);
    int fd = place.fd >= 0 ? place.fd : opened;
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? REPLAY_BAD : REPLAY_TROUBLE;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
        fault_set(fault, "is a directory now");
        return REPLAY_BAD;
    }
    enum replay_load load = read_message(worker, fd, &place, &ret->message, fault);
    if (load == REPLAY_LOADED)
        load = replay_envelope_complete(worker, worker->setup->load_context, place.from_time, ret, fault);
    return load;
}
