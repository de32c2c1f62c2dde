/* SPDX-License-Identifier: ISC
 *
 * The sender is who is logged in, and who the message says it is from. */
#include "delivery/sender.h"

#include <string.h>

#include "base/log.h"
#include "delivery/received.h"

static bool local_domain(const struct delivery *delivery, const struct route *from)
{
    const struct delivery_request *request = delivery->request;
    if (request->config->route.account_query[0] != '\0')
        return true;
    for (size_t i = 0; i < request->recipient_count; i++)
        if (delivery->answers[i].route.domain != NULL && strcmp(delivery->answers[i].route.domain, from->domain) == 0)
            return true;
    return false;
}

/* Who is logged in. If this or From is not an address, a stranger wrote it, and it is no error of ours. */
struct login {
    char *text; /* NULL: not needed */
    struct address address;
};

static void login_clear(struct login *login)
{
    base_free(&login->text);
    address_clear(&login->address);
}

static bool find_login(const struct delivery_request *request, struct login *ret)
{
    struct fault ignored;
    ret->text = request->sasl_user != NULL ? base_strdup(request->sasl_user)
                                           : received_login(request->message, request->queue_id);
    return ret->text != NULL && address_parse(ret->text, &ret->address, &ignored);
}

static bool find_from(const struct delivery *delivery, struct address *ret)
{
    struct fault ignored;
    const char *text = decoding_result(delivery->decoding)->from;
    if (text == NULL && decoding_fault(delivery->decoding) != NULL && !decoding_cut_off(delivery->decoding))
        log_warning("%s: no Sent copy: the sender is unknown: %s", delivery_queue_id(delivery->request),
                    decoding_fault(delivery->decoding));
    return text != NULL && address_parse(text, ret, &ignored);
}

static enum route_result is_due(const struct delivery *delivery, const struct login *login, const struct route *from,
                                struct fault *fault)
{
    if (login->text == NULL)
        return local_domain(delivery, from) ? ROUTE_OK : ROUTE_NONE;
    if (strcmp(login->text, from->account) == 0)
        return ROUTE_OK;
    return route_leads_to(delivery->request->config, delivery->ledger, &login->address, from->account, fault);
}

enum route_result sender_route(const struct delivery *delivery, struct route *ret, struct fault *fault)
{
    const struct delivery_request *request = delivery->request;
    enum route_sent_copy mode = request->config->route.sent_copy;
    struct login login OD_CLEANUP(login_clear) = {.text = NULL};
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    struct route from OD_CLEANUP(route_clear) = {.account = NULL};
    if (mode == SENT_COPY_OFF || request->only_login != NULL)
        return ROUTE_NONE;
    if (mode == SENT_COPY_AUTHENTICATED && !find_login(request, &login))
        return ROUTE_NONE;
    if (!find_from(delivery, &address))
        return ROUTE_NONE;
    enum route_result result = route_find(request->config, delivery->ledger, &address, &from, fault);
    if (result == ROUTE_OK)
        result = is_due(delivery, &login, &from, fault);
    if (result == ROUTE_OK) {
        *ret = from;
        memset(&from, 0, sizeof(from));
    }
    return result;
}
