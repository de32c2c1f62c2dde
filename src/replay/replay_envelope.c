/* SPDX-License-Identifier: ISC */
#include "replay/replay.h"

#include <string.h>

#include "delivery/received.h"

/* Removes one pair of <> and surrounding blanks. */
static char *plain_address(const char *text)
{
    char *plain = g_strstrip(g_strdup(text));
    size_t length = strlen(plain);
    if (length < 2 || plain[0] != '<' || plain[length - 1] != '>')
        return plain;
    plain[length - 1] = '\0';
    memmove(plain, plain + 1, length - 1);
    return plain;
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
                  " Bcc have an account is known only with [route] account_query)");
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

enum replay_load replay_envelope_complete(struct replay_worker *worker, const struct replay_envelope *reported,
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
