/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delivery/received.h"
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

/* Removes one pair of <> and surrounding blanks. */
static char *plain_address(const char *text)
{
    char *trimmed OD_CLEANUP(base_free) = g_strstrip(g_strdup(text));
    return base_strip_brackets(trimmed);
}

static void add_once(GPtrArray *recipients, const char *address)
{
    char *clean OD_CLEANUP(base_free) = address_clean(address);
    char *plain = plain_address(clean);
    if (plain[0] == '\0' || g_ptr_array_find_with_equal_func(recipients, plain, g_str_equal, NULL))
        base_free(&plain);
    else
        g_ptr_array_add(recipients, plain);
}

static void add_from_field(GPtrArray *recipients, const struct message *message, const char *name)
{
    char *value OD_CLEANUP(base_free) = recipients->len == 0 ? message_header(message, name) : NULL;
    if (value != NULL)
        add_once(recipients, value);
}

static bool names_a_recipient(const struct decoded_address *address)
{
    return strcmp(address->role, "to") == 0 || strcmp(address->role, "cc") == 0 || strcmp(address->role, "bcc") == 0;
}

static enum route_result add_addressee(struct replay_worker *worker, const char *text, GPtrArray *recipients,
                                       struct error *error)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    enum route_result result = ROUTE_NONE;
    if (address_parse(text, &address, error))
        result = route_find(worker->setup->config, worker->ledger, &address, &route, error);
    if (result == ROUTE_OK)
        add_once(recipients, text);
    return result;
}

/* Adds those with an account here. */
static enum replay_load add_addressees(struct replay_worker *worker, const struct message *message,
                                       GPtrArray *recipients, struct error *error)
{
    struct decoding *decoding OD_CLEANUP(decoding_free) = NULL;
    if (worker->setup->config->route.account_query[0] == '\0') {
        error_set(error,
                  "no Delivered-To and no X-Original-To in its header: name the recipients with -d (which of To, Cc and"
                  " Bcc have an account is known only with route.account_query)");
        return REPLAY_BAD;
    }
    if (replay_task_ledger(worker, error) == NULL ||
        (decoding = decoding_start(message, RECORD_HEADERS, error)) == NULL)
        return REPLAY_ERROR;
    const struct decoded *decoded = decoding_result(decoding);
    for (size_t i = 0; i < decoded->address_count; i++)
        if (names_a_recipient(&decoded->addresses[i]) &&
            add_addressee(worker, decoded->addresses[i].address, recipients, error) == ROUTE_ERROR)
            return REPLAY_ERROR;
    if (recipients->len > 0)
        return REPLAY_LOADED;
    if (decoding_error(decoding) != NULL)
        error_set(error, "no address in its header is known to have an account here (%s); name the recipients with -d",
                  decoding_error(decoding));
    else
        error_set(error, "no address in its header has an account here; name the recipients with -d");
    return REPLAY_BAD;
}

/* Returns 0 without one. */
static int64_t time_in(const char *text)
{
    int64_t seconds = 0;
    return text != NULL && decode_date(text, &seconds) && seconds > 0 ? seconds : 0;
}

/* Returns 0 if unknown. Received has its date after the last ';' (RFC 5321, 4.4). Of any MTA: received_queue() reads
 * only Postfix's. */
static int64_t arrival(const struct message *message, int64_t from_time)
{
    char *received OD_CLEANUP(base_free) = message_header(message, "Received");
    char *date OD_CLEANUP(base_free) = message_header(message, "Date");
    const char *end = received != NULL ? strrchr(received, ';') : NULL;
    int64_t received_at = time_in(end != NULL ? end + 1 : NULL);
    if (received_at > 0)
        return received_at;
    return from_time > 0 ? from_time : time_in(date);
}

/* Sets a loaded message's envelope.
 *
 * recipients   default: Delivered-To, else X-Original-To, else the addresses in To, Cc and Bcc with an account, by
 *              route.account_query
 * received_at  from the topmost Received, else from_time (of a From_ line; 0: none), else Date, else now
 *
 * Returns REPLAY_BAD with the error set without recipients, REPLAY_ERROR if they are unknown now. */
static enum replay_load complete_envelope(struct replay_worker *worker, const struct replay_envelope *reported,
                                          int64_t from_time, struct replay_message *message, struct error *error)
{
    char *path OD_CLEANUP(base_free) = message_header(message->message, "Return-Path");
    g_autoptr(GPtrArray) recipients = g_ptr_array_new_with_free_func(g_free);
    const char *sender = reported->sender != NULL ? reported->sender : path;
    enum replay_load load = REPLAY_LOADED;
    int64_t queued_at; /* of the original delivery */
    message->sender = plain_address(sender != NULL ? sender : "");
    received_queue(message->message, &message->queue_id, &queued_at);
    message->received_at = arrival(message->message, from_time);
    for (guint i = 0; i < reported->recipients->len; i++)
        add_once(recipients, reported->recipients->pdata[i]);
    add_from_field(recipients, message->message, "Delivered-To");
    add_from_field(recipients, message->message, "X-Original-To");
    if (recipients->len == 0)
        load = add_addressees(worker, message->message, recipients, error);
    g_ptr_array_add(recipients, NULL);
    message->recipients = (char **)g_ptr_array_free(g_steal_pointer(&recipients), FALSE);
    return load;
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
    return load != REPLAY_LOADED ? load : complete_envelope(worker, &files->envelope, item->at.from_time, ret, error);
}
