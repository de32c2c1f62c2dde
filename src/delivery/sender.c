/* SPDX-License-Identifier: ISC */
#include "delivery/sender.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "delivery/received.h"
#include "route/address.h"

static bool local_domain(const struct delivery *delivery, const struct route *from)
{
    if (delivery->config->route.account_query[0] != '\0')
        return true;
    for (size_t i = 0; i < delivery->recipient_count; i++)
        if (delivery->recipients[i].route.domain != NULL &&
            strcmp(delivery->recipients[i].route.domain, from->domain) == 0)
            return true;
    return false;
}

static enum route_result is_due(struct delivery *delivery, const char *login, const struct route *from,
                                struct fault *fault)
{
    if (login != NULL)
        return route_is_account_of(delivery->config, delivery->ledger, login, from->account, fault);
    return local_domain(delivery, from) ? ROUTE_OK : ROUTE_NONE;
}

/* What a stranger wrote into From leads nowhere, instead of being trouble of ours. */
static bool is_address(const char *text)
{
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    struct fault ignored;
    return address_parse(text, &address, &ignored);
}

enum route_result sender_route(struct delivery *delivery, struct route *ret, struct fault *fault)
{
    enum route_sent_copy mode = delivery->config->route.sent_copy;
    char *login OD_CLEANUP(base_free) = NULL;
    if (mode == SENT_COPY_OFF || delivery->only_login != NULL)
        return ROUTE_NONE;
    if (mode == SENT_COPY_AUTHENTICATED) {
        login = delivery->sasl_user != NULL ? base_strdup(delivery->sasl_user)
                                            : received_login(delivery->message, delivery->queue_id);
        if (login == NULL || !is_address(login))
            return ROUTE_NONE;
    }
    const char *from_address = decoding_result(delivery->decoding)->from;
    if (from_address == NULL && decoding_fault(delivery->decoding) != NULL && !decoding_cut_off(delivery->decoding))
        log_warning("%s: no Sent copy: not known who wrote the message: %s",
                    delivery->queue_id != NULL ? delivery->queue_id : "NOQUEUE", decoding_fault(delivery->decoding));
    if (from_address == NULL || !is_address(from_address))
        return ROUTE_NONE;
    struct route from OD_CLEANUP(route_clear) = {.account = NULL};
    enum route_result result = route_find(delivery->config, delivery->ledger, from_address, &from, fault);
    if (result == ROUTE_OK)
        result = is_due(delivery, login, &from, fault);
    if (result == ROUTE_OK) {
        *ret = from;
        memset(&from, 0, sizeof(from));
    }
    return result;
}
