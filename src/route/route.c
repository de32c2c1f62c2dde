/* SPDX-License-Identifier: ISC */
#include "route/route.h"

#include <string.h>

#include "route/address.h"

/* Strangers choose the detail: it may name a folder, but no path and no pattern. */
static bool detail_is_folder(const char *detail)
{
    return detail[0] != '\0' && strlen(detail) <= 64 && detail[0] != '~' && detail[0] != '\\' &&
           strpbrk(detail, "/.%*") == NULL;
}

/* The template's account, or account_query's with what it says of the mailboxes. */
static enum route_result find_account(const struct config *config, struct ledger *ledger,
                                      const struct address *address, char *ret_columns[3], struct fault *fault)
{
    if (config->route.account_query[0] == '\0') {
        ret_columns[0] = address_expand(config->route.account, address, fault);
        return ret_columns[0] != NULL ? ROUTE_OK : ROUTE_TROUBLE;
    }
    bool found;
    if (!ledger_lookup(ledger, config->route.account_query, address->address, &found, ret_columns, fault))
        return ROUTE_TROUBLE;
    if (!found)
        fault_set(fault, "%s: no such account", address->address);
    return found ? ROUTE_OK : ROUTE_NONE;
}

static char *choose(char **column, const char *otherwise)
{
    if (*column == NULL || **column == '\0')
        return base_strdup(otherwise);
    char *chosen = *column;
    *column = NULL;
    return chosen;
}

enum route_result route_find(const struct config *config, struct ledger *ledger, const char *text, struct route *ret,
                             struct fault *fault)
{
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    char *columns[3] = {NULL, NULL, NULL};
    if (!address_parse(text, &address, fault))
        return ROUTE_TROUBLE;
    enum route_result result = find_account(config, ledger, &address, columns, fault);
    if (result == ROUTE_OK && (columns[0] == NULL || columns[0][0] == '\0' || strlen(columns[0]) > ADDRESS_MAX)) {
        fault_set(fault, "%s: the account that [route] %s gives is empty or longer than 512 bytes", address.address,
                  config->route.account_query[0] != '\0' ? "account_query" : "account");
        result = ROUTE_TROUBLE;
    }
    if (result == ROUTE_OK) {
        bool folder = config->route.detail == DETAIL_FOLDER && detail_is_folder(address.detail);
        ret->account = choose(&columns[0], "");
        ret->inbox = choose(&columns[1], config->route.inbox);
        ret->sent = choose(&columns[2], config->route.sent);
        if (folder) {
            base_free(&ret->inbox);
            ret->inbox = base_strdup(address.detail);
        }
        ret->address = base_strdup(address.address);
        ret->domain = base_strdup(address.domain);
    }
    for (int i = 0; i < 3; i++)
        base_free(&columns[i]);
    return result;
}

void route_clear(struct route *route)
{
    base_free(&route->address);
    base_free(&route->domain);
    base_free(&route->account);
    base_free(&route->inbox);
    base_free(&route->sent);
}

bool route_check(const struct config *config, struct fault *fault)
{
    char *expanded OD_CLEANUP(base_free) = address_expand(config->route.account, NULL, fault);
    return expanded != NULL;
}
