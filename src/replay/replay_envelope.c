/* SPDX-License-Identifier: ISC
 *
 * Finds what is not given in the header: recipients, sender, time. */
#include "replay/replay_envelope.h"

#include <string.h>

#include "decode/decoding.h"
#include "delivery/received.h"
#include "route/route.h"

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
    char *value OD_CLEANUP(base_free) = recipients->len == 0 ? message_header(message, name, NULL) : NULL;
    if (value != NULL)
        add_once(recipients, value);
}

static bool names_a_recipient(const struct decoded_address *address)
{
    return strcmp(address->role, "to") == 0 || strcmp(address->role, "cc") == 0 || strcmp(address->role, "bcc") == 0;
}

/* Adds the addressees that have an account here. */
static enum replay_load add_addressees(struct replay_worker *worker, struct replay_message *message,
                                       struct fault *fault)
{
    const struct config *config = worker->setup->config;
    struct decoding *decoding OD_CLEANUP(decoding_free) = NULL;
    if (config->route.account_query[0] == '\0') {
        fault_set(fault,
                  "no Delivered-To and no X-Original-To in its header: name the recipients with -d (which of To, Cc and"
                  " Bcc have an account is known only with [route] account_query)");
        return REPLAY_BAD;
    }
    struct ledger *ledger = replay_task_ledger(worker, fault);
    if (ledger == NULL)
        return REPLAY_TROUBLE;
    decoding = decoding_start(message->message, RECORD_HEADERS, fault);
    if (decoding == NULL)
        return REPLAY_TROUBLE;
    const struct decoded *decoded = decoding_result(decoding);
    for (size_t i = 0; i < decoded->address_count; i++) {
        struct route route OD_CLEANUP(route_clear) = {.account = NULL};
        struct address address OD_CLEANUP(address_clear) = {.address = NULL};
        if (!names_a_recipient(&decoded->addresses[i]) ||
            !address_parse(decoded->addresses[i].address, &address, fault))
            continue;
        switch (route_find(config, ledger, &address, &route, fault)) {
        case ROUTE_OK:
            add_once(message->recipients, decoded->addresses[i].address);
            break;
        case ROUTE_NONE:
            break;
        case ROUTE_TROUBLE:
            return REPLAY_TROUBLE;
        }
    }
    if (message->recipients->len == 0 && decoding_fault(decoding) != NULL)
        fault_set(fault, "nobody in its header is known to have an account here (%s); name the recipients with -d",
                  decoding_fault(decoding));
    else if (message->recipients->len == 0)
        fault_set(fault, "nobody in its header has an account here; name the recipients with -d");
    return message->recipients->len > 0 ? REPLAY_LOADED : REPLAY_BAD;
}

/* The date after the last ';' of the topmost Received field (RFC 5321, 4.4). */
static bool received_date(const struct message *message, int64_t *ret)
{
    char *received OD_CLEANUP(base_free) = message_header(message, "Received", NULL);
    const char *date = received != NULL ? strrchr(received, ';') : NULL;
    return date != NULL && decode_date(date + 1, ret);
}

static int64_t arrival(const struct message *message, int64_t from_time)
{
    int64_t seconds = 0;
    if (received_date(message, &seconds) && seconds > 0)
        return seconds;
    if (from_time > 0)
        return from_time;
    char *date OD_CLEANUP(base_free) = message_header(message, "Date", NULL);
    return date != NULL && decode_date(date, &seconds) && seconds > 0 ? seconds : 0;
}

enum replay_load replay_envelope_complete(struct replay_worker *worker, const struct replay_envelope *told,
                                          int64_t from_time, struct replay_message *message, struct fault *fault)
{
    char *path OD_CLEANUP(base_free) = told->sender == NULL ? message_header(message->message, "Return-Path", NULL)
                                                            : NULL;
    int64_t queued_at; /* of its original delivery: it is in no queue now */
    message->sender = plain_address(told->sender != NULL ? told->sender : path != NULL ? path : "");
    received_queue(message->message, &message->queue_id, &queued_at);
    message->received_at = arrival(message->message, from_time);
    message->recipients = g_ptr_array_new_with_free_func(g_free);
    for (size_t i = 0; told->recipients != NULL && told->recipients[i] != NULL; i++)
        add_once(message->recipients, told->recipients[i]);
    add_from_field(message->recipients, message->message, "Delivered-To");
    add_from_field(message->recipients, message->message, "X-Original-To");
    return message->recipients->len > 0 ? REPLAY_LOADED : add_addressees(worker, message, fault);
}
