/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include <glib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "delivery/received.h"

/* A mailbox of two addresses has a fallback only if both have it. */
static size_t add_target(struct targets *targets, const struct config *server, const char *account, const char *mailbox,
                         const char *fallback, enum copy_role role)
{
    size_t *count = &targets->message.target_count;
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(targets->list[i].account, account) != 0 || strcmp(targets->list[i].mailbox, mailbox) != 0)
            continue;
        if (fallback == NULL)
            targets->fallbacks[i] = NULL;
        return i;
    }
    targets->servers[*count] = server;
    targets->fallbacks[*count] = fallback;
    targets->list[*count] = (struct ledger_target){.account = account, .mailbox = mailbox, .role = role};
    return (*count)++;
}

static enum route_result find_route(const struct delivery *delivery, const struct delivery_recipient *recipient,
                                    struct route *ret, struct error *error)
{
    struct address own OD_CLEANUP(address_clear) = {.address = NULL};
    const struct address *address = recipient->parsed != NULL ? recipient->parsed : &own;
    if (recipient->parsed == NULL && !address_parse(recipient->address, &own, error))
        return ROUTE_ERROR;
    return route_find(delivery->request->config, delivery->ledger, address, ret, error);
}

/* Returns ROUTE_OK if the account is the caller's own: the login is its name, or an unchanged local part that is routed
 * to it. LISA is not lisa, nor is lisa+x. */
static enum route_result check_caller(const struct delivery *delivery, const char *account, struct error *error)
{
    const struct delivery_request *request = delivery->request;
    struct address login OD_CLEANUP(address_clear) = {.address = NULL};
    enum route_result result = ROUTE_NONE;
    if (request->only_login == NULL || strcmp(request->only_login, account) == 0)
        return ROUTE_OK;
    if (!address_parse(request->only_login, &login, error))
        return ROUTE_ERROR;
    if (strcmp(login.user, request->only_login) == 0)
        result = route_leads_to(request->config, delivery->ledger, &login, account, NULL, error);
    if (result != ROUTE_NONE)
        return result;
    error_set(error, "user %s may not deliver to %s, only to the user's own account", request->only_login, account);
    return ROUTE_ERROR;
}

static enum outcome defer_outcome(const struct delivery *delivery)
{
    return ledger_is_lost(delivery->ledger) ? OUTCOME_DATABASE : OUTCOME_TEMPFAIL;
}

static bool route_recipients(struct delivery *delivery, struct targets *targets)
{
    const struct delivery_request *request = delivery->request;
    bool bounce = request->config->route.unknown_account == UNKNOWN_BOUNCE;
    enum outcome unknown = bounce ? OUTCOME_UNKNOWN_BOUNCE : OUTCOME_UNKNOWN_DEFER;
    for (size_t i = 0; i < request->recipient_count; i++) {
        const struct delivery_recipient *recipient = &request->recipients[i];
        struct route *route = &delivery->replies[i].route;
        struct error error;
        enum route_result result = find_route(delivery, recipient, route, &error);
        if (result == ROUTE_OK)
            result = check_caller(delivery, route->account, &error);
        targets->recipients[i] =
            (struct ledger_recipient){.address = recipient->address, .original = recipient->original};
        targets->of_recipient[i] = LEDGER_NO_TARGET;
        if (result != ROUTE_OK) {
            report_set(&delivery->replies[i].report, result == ROUTE_NONE ? unknown : defer_outcome(delivery), "%s",
                       error.text);
            continue;
        }
        debug_concerns(recipient->address, route->account);
        debug_concerns(recipient->original, route->account);
        targets->recipients[i].account = route->account;
        targets->recipients[i].mailbox = route->inbox;
        targets->of_recipient[i] =
            add_target(targets, route->server, route->account, route->inbox, route->fallback, COPY_INBOX);
    }
    return targets->message.target_count > 0;
}

static bool local_domain(const struct delivery *delivery, const struct route *from)
{
    const struct delivery_request *request = delivery->request;
    if (request->config->route.account_query[0] != '\0')
        return true;
    for (size_t i = 0; i < request->recipient_count; i++)
        if (delivery->replies[i].route.domain != NULL && strcmp(delivery->replies[i].route.domain, from->domain) == 0)
            return true;
    return false;
}

/* What is no address is no error: a stranger may have written it. */
static bool find_login(const struct delivery_request *request, char **ret_text, struct address *ret)
{
    struct error ignored;
    *ret_text = request->sasl_user != NULL ? base_strdup(request->sasl_user)
                                           : received_login(request->message, request->queue_id);
    return *ret_text != NULL && address_parse(*ret_text, ret, &ignored);
}

static bool find_from(const struct delivery *delivery, struct address *ret)
{
    struct error ignored;
    char why[512];
    const char *text = decoding_result(delivery->decoding)->from;
    if (text == NULL && decoding_error(delivery->decoding) != NULL && !decoding_must_be_retried(delivery->decoding))
        log_warning("%s: no Sent copy: the sender is unknown: %s", delivery_queue_id(delivery->request),
                    log_escape_text(decoding_error(delivery->decoding), why, sizeof(why)));
    return text != NULL && address_parse(text, ret, &ignored);
}

/* Finds the sender's account and Sent mailbox, as route.sent_copy says:
 *
 * authenticated  the SASL login (the request's, even if empty; else received_login) maps to the account of From
 * from           From maps to an account by account_query, or has a recipient's domain: a template maps any stranger
 *
 * With only_login there is no Sent copy. ROUTE_NONE: none is due, or From could not be decoded. ROUTE_ERROR: unknown.
 * *ret must be cleared. */
static enum route_result sender_route(const struct delivery *delivery, struct route *ret, struct error *error)
{
    const struct delivery_request *request = delivery->request;
    enum route_sent_copy mode = request->config->route.sent_copy;
    char *login OD_CLEANUP(base_free) = NULL;
    struct address parsed OD_CLEANUP(address_clear) = {.address = NULL};
    struct address from OD_CLEANUP(address_clear) = {.address = NULL};
    if (mode == SENT_COPY_OFF || request->only_login != NULL)
        return ROUTE_NONE;
    if ((mode == SENT_COPY_AUTHENTICATED && !find_login(request, &login, &parsed)) || !find_from(delivery, &from))
        return ROUTE_NONE;
    enum route_result result = route_find(request->config, delivery->ledger, &from, ret, error);
    bool stranger = login == NULL || strcmp(parsed.address, from.address) != 0;
    if (result == ROUTE_NO_SERVER)
        return stranger ? ROUTE_NONE : ROUTE_ERROR;
    if (result == ROUTE_OK && ret->sent == NULL) /* no Sent copies */
        return ROUTE_NONE;
    if (result != ROUTE_OK)
        return result;
    if (login == NULL)
        return local_domain(delivery, ret) ? ROUTE_OK : ROUTE_NONE;
    if (strcmp(login, ret->account) == 0)
        return ROUTE_OK;
    return route_leads_to(request->config, delivery->ledger, &parsed, ret->account, NULL, error);
}

/* By the account's name as an address, then by From. */
static enum route_result recorded_server(const struct delivery *delivery, const char *account,
                                         const struct config **ret, struct error *error)
{
    const struct config *config = delivery->request->config;
    struct error ignored;
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    struct address from OD_CLEANUP(address_clear) = {.address = NULL};
    enum route_result result = ROUTE_NONE;
    if (config_server_count(config) == 0) {
        *ret = config;
        return ROUTE_OK;
    }
    if (address_parse(account, &address, &ignored))
        result = route_leads_to(config, delivery->ledger, &address, account, ret, error);
    if ((result == ROUTE_NONE || result == ROUTE_NO_SERVER) && find_from(delivery, &from))
        result = route_leads_to(config, delivery->ledger, &from, account, ret, error);
    if (result == ROUTE_OK || result == ROUTE_ERROR)
        return result;
    error_set(error, "no address leads to account %s any more, so its IMAP server is not known", account);
    return ROUTE_ERROR;
}

static enum route_result recorded_sender(const struct delivery *delivery, struct route *ret, struct error *error)
{
    const struct delivery_request *request = delivery->request;
    if (request->sender_route->account == NULL)
        return ROUTE_NONE;
    if (recorded_server(delivery, request->sender_route->account, &ret->server, error) != ROUTE_OK)
        return ROUTE_ERROR;
    ret->account = base_strdup(request->sender_route->account);
    ret->sent = base_strdup(request->sender_route->sent);
    return ROUTE_OK;
}

/* Returns false if it is unknown whether a Sent copy is due. If Sent is a recipient's mailbox, one copy suffices. */
static bool add_sent(struct delivery *delivery, struct targets *targets)
{
    const struct delivery_request *request = delivery->request;
    struct error error;
    enum route_result result = request->sender_route != NULL ? recorded_sender(delivery, &targets->sender, &error)
                                                             : sender_route(delivery, &targets->sender, &error);
    if (result == ROUTE_OK)
        debug_concerns(request->sender, targets->sender.account);
    if (result == ROUTE_OK)
        (void)add_target(targets, targets->sender.server, targets->sender.account, targets->sender.sent, NULL,
                         COPY_SENT);
    if (result != ROUTE_ERROR)
        return true;
    for (size_t i = 0; i < request->recipient_count; i++)
        if (targets->of_recipient[i] != LEDGER_NO_TARGET)
            report_set(&delivery->replies[i].report, defer_outcome(delivery), "sender: %s", error.text);
    return false;
}

static void shuffle(struct targets *targets)
{
    size_t count = targets->message.target_count;
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)g_random_int_range(0, (gint32)i + 1);
        targets->order[i] = targets->order[j];
        targets->order[j] = i;
    }
}

static void describe_message(const struct delivery_request *request, struct targets *targets)
{
    const struct message *message = request->message;
    struct ledger_message *ret = &targets->message;
    targets->sender_text = g_utf8_make_valid(request->sender, -1);
    if (message->message_id != NULL)
        targets->message_id = g_utf8_make_valid(message->message_id, (gssize)message->message_id_length);
    message_own_identity(message, request->config->lock.namespace, ret->identity);
    memcpy(ret->digest, message->digest, LEDGER_HASH_SIZE);
    ret->message_id = targets->message_id;
    ret->sender = targets->sender_text;
    ret->queue_id = request->queue_id;
    ret->queued_at = request->queued_at;
    ret->received_at = request->received_at != 0 ? request->received_at : (int64_t)time(NULL);
    ret->size = (int64_t)message->size;
    ret->data = message->data;
    ret->dry_run = request->dry_run;
    ret->targets = targets->list;
    ret->recipients = targets->recipients;
    ret->recipient_count = request->recipient_count;
}

/* Appends the names of the feeds that take a target's copy, and NULL. Returns the end. */
static const char **append_feeds(const struct delivery_request *request, const struct targets *targets, size_t target,
                                 const char **names)
{
    const struct ledger_target *copy = &targets->list[target];
    const char **whom OD_CLEANUP(base_free) = base_alloc((request->recipient_count + 1) * sizeof(*whom));
    size_t count = 0;
    for (size_t i = 0; i < request->recipient_count; i++)
        if (targets->of_recipient[i] == target)
            whom[count++] = request->recipients[i].address;
    for (size_t i = 0; i < config_feed_count(request->config); i++)
        if (config_feed_takes(request->config->feeds[i], copy->role == COPY_SENT, whom, copy->account, copy->mailbox))
            *names++ = request->config->feeds[i]->name;
    *names++ = NULL;
    return names;
}

static void find_feeds(const struct delivery_request *request, struct targets *targets)
{
    size_t count = config_feed_count(request->config);
    if (count == 0)
        return;
    const char **next = base_alloc(targets->message.target_count * (count + 1) * sizeof(*next));
    targets->feeds = next;
    for (size_t i = 0; i < targets->message.target_count; i++) {
        targets->list[i].feeds = next;
        next = append_feeds(request, targets, i, next);
    }
}

bool targets_collect(struct delivery *delivery, struct targets *ret)
{
    const struct delivery_request *request = delivery->request;
    size_t count = request->recipient_count;
    *ret = (struct targets){.list = NULL};
    ret->list = base_alloc((count + 1) * sizeof(*ret->list));
    ret->servers = base_alloc((count + 1) * sizeof(*ret->servers));
    ret->fallbacks = base_alloc((count + 1) * sizeof(*ret->fallbacks));
    ret->recipients = base_alloc((count + 1) * sizeof(*ret->recipients));
    ret->of_recipient = base_alloc((count + 1) * sizeof(*ret->of_recipient));
    ret->order = base_alloc((count + 1) * sizeof(*ret->order));
    if (!route_recipients(delivery, ret) || !add_sent(delivery, ret))
        return false;
    shuffle(ret);
    find_feeds(request, ret);
    describe_message(request, ret);
    return true;
}

void targets_leave_out(struct targets *targets, size_t recipient_count, const struct config *server)
{
    size_t count = 0;
    for (size_t i = 0; i < targets->message.target_count; i++) {
        bool stays = targets->servers[i] != server;
        for (size_t j = 0; j < recipient_count; j++)
            if (targets->of_recipient[j] == i)
                targets->of_recipient[j] = stays ? count : LEDGER_NO_TARGET;
        targets->servers[count] = targets->servers[i];
        targets->fallbacks[count] = targets->fallbacks[i];
        targets->list[count] = targets->list[i];
        count += stays;
    }
    targets->message.target_count = count;
    shuffle(targets);
}

size_t targets_first_recipient(const struct targets *targets, size_t target)
{
    size_t i = 0;
    while (targets->of_recipient[i] != target)
        i++;
    return i;
}

void targets_clear(struct targets *targets)
{
    base_free(&targets->list);
    base_free(&targets->feeds);
    base_free(&targets->servers);
    base_free(&targets->fallbacks);
    base_free(&targets->recipients);
    base_free(&targets->of_recipient);
    base_free(&targets->order);
    base_free(&targets->message_id);
    base_free(&targets->sender_text);
    route_clear(&targets->sender);
}
