/* SPDX-License-Identifier: ISC
 *
 * Template or query, then the detail. Names that no mail server or ledger could take are refused here. */
#include "route/route.h"

#include <glib.h>
#include <string.h>

#include "mailbox/mailbox.h"
#include "route/route_template.h"

#define QUERY "route.account_query"

/* The sender chooses the detail: it may name a folder, but not a path or a pattern. */
static bool detail_is_folder(const char *detail)
{
    struct fault ignored;
    if (detail[0] == '\0' || strlen(detail) > 64 || detail[0] == '~' || detail[0] == '\\' ||
        strpbrk(detail, "/.%*") != NULL)
        return false;
    char *encoded OD_CLEANUP(base_free) = mailbox_name_encode(detail, &ignored);
    return encoded != NULL;
}

/* Finds the account by the template, or by account_query, which may also return the mailboxes. */
static enum route_result find_account(const struct config *config, struct ledger *ledger, const struct address *address,
                                      char *ret_columns[3], struct fault *fault)
{
    if (config->route.account_query[0] == '\0') {
        ret_columns[0] = route_template_expand("account", config->route.account, address, fault);
        return ret_columns[0] != NULL ? ROUTE_OK : ROUTE_TROUBLE;
    }
    bool found;
    if (!ledger_lookup(ledger, config->route.account_query, address->address, &found, ret_columns, fault))
        return ROUTE_TROUBLE;
    if (!found)
        fault_set(fault, "%s: no such account", address->address);
    return found ? ROUTE_OK : ROUTE_NONE;
}

static void clear_columns(char *columns[3])
{
    for (int i = 0; i < 3; i++)
        base_free(&columns[i]);
}

static char *choose(char **column, const char *otherwise)
{
    return *column != NULL ? g_steal_pointer(column) : base_strdup(otherwise);
}

/* Gives each mailbox a single name, otherwise its copies would count as different ones: INBOX in any case (RFC 3501,
 * 5.1), and the use \Sent (RFC 6154, 2). */
static char *one_name(char *name)
{
    static const char *const names[] = {"INBOX", "\\Sent"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (g_ascii_strcasecmp(name, names[i]) == 0)
            memcpy(name, names[i], strlen(names[i]));
    return name;
}

/* A name that IMAP cannot take must be found before anything is claimed for it. */
static bool names_are_good(const struct route *route, struct fault *fault)
{
    const char *const names[] = {route->inbox, route->sent, route->fallback};
    for (size_t i = 0; i < 3 && names[i] != NULL; i++) {
        char *encoded OD_CLEANUP(base_free) = mailbox_name_encode(names[i], fault);
        if (encoded == NULL) {
            fault_prefix(fault, "mailbox of %s", route->address);
            return false;
        }
    }
    return true;
}

static enum route_result check_route(struct route *route, struct fault *fault)
{
    if (route->account[0] == '\0' || strlen(route->account) > ADDRESS_MAX ||
        !g_utf8_validate(route->account, -1, NULL)) {
        fault_set(fault,
                  "%s: its account is empty, not UTF-8 or longer than %d bytes (see [route] account and account_query)",
                  route->address, ADDRESS_MAX);
        return ROUTE_TROUBLE;
    }
    return names_are_good(route, fault) ? ROUTE_OK : ROUTE_TROUBLE;
}

enum route_result route_find(const struct config *config, struct ledger *ledger, const struct address *address,
                             struct route *ret, struct fault *fault)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    char *columns[3] = {NULL, NULL, NULL};
    enum route_result result = find_account(config, ledger, address, columns, fault);
    bool inbox_asked = columns[1] != NULL, sent_asked = columns[2] != NULL;
    if (result == ROUTE_OK)
        result =
            route_template_mailboxes(config, columns[0] != NULL ? columns[0] : "", &columns[1], &columns[2], fault);
    if (result != ROUTE_OK) {
        clear_columns(columns);
        return result;
    }
    bool folder = config->route.detail == DETAIL_FOLDER && detail_is_folder(address->detail);
    route.account_by = config->route.account_query[0] != '\0' ? QUERY : "route.account";
    route.inbox_by = folder ? "route.detail" : inbox_asked ? QUERY : "route.inbox";
    route.sent_by = sent_asked ? QUERY : "route.sent";
    route.account = choose(&columns[0], "");
    route.inbox = one_name(choose(&columns[1], config->route.inbox));
    if (folder) {
        route.fallback = route.inbox;
        route.inbox = one_name(base_strdup(address->detail));
    }
    route.sent = one_name(choose(&columns[2], config->route.sent));
    route.address = base_strdup(address->address);
    route.domain = base_strdup(address->domain);
    if (config_is_shared(config))
        route.home = base_strdup(route.inbox);
    clear_columns(columns);
    result = check_route(&route, fault);
    if (result == ROUTE_OK) {
        *ret = route;
        memset(&route, 0, sizeof(route));
    }
    return result;
}

enum route_result route_leads_to(const struct config *config, struct ledger *ledger, const struct address *address,
                                 const char *account, struct fault *fault)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    enum route_result result = route_find(config, ledger, address, &route, fault);
    return result == ROUTE_OK && strcmp(route.account, account) != 0 ? ROUTE_NONE : result;
}

void route_clear(struct route *route)
{
    base_free(&route->address);
    base_free(&route->domain);
    base_free(&route->account);
    base_free(&route->inbox);
    base_free(&route->fallback);
    base_free(&route->home);
    base_free(&route->sent);
}
