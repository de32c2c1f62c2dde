/* SPDX-License-Identifier: ISC
 *
 * Refuses unsafe names: any client can write the local part, which may become part of a mailbox name. */
#include "route/route.h"

#include <glib.h>
#include <string.h>

#include "mailbox/mailbox.h"

#define QUERY "route.account_query"

static char *expand(const char *setting, const char *template, const struct address *address, struct error *error)
{
    char *text = address_expand(template, address, error);
    if (text == NULL)
        error_set(error, "[route] %s = %s", setting, error->text);
    return text;
}

/* With '/' in names a dot is an ordinary character; in "user.%{user}" it is the separator (RFC 3501, 5.1.1). '%' and
 * '*' are wildcards to LIST. */
static bool is_safe(const char *user, const char *template)
{
    return strpbrk(user, strchr(template, '/') != NULL ? "/%*\"\\" : "/.%*\"\\") == NULL && user[0] != '~';
}

static bool expand_mailbox(const char *setting, const char *template, const struct address *address, char **mailbox,
                           struct error *error)
{
    if (*mailbox != NULL)
        return true;
    if (!is_safe(address->user, template))
        return error_set(error, "account %s: has a character with a meaning in route.%s = %s, so it cannot stand there",
                         address->address, setting, template);
    *mailbox = expand(setting, template, address, error);
    return *mailbox != NULL;
}

/* Unlike in an address, case may matter. */
static void split_account(const char *account, struct address *ret)
{
    const char *at = strrchr(account, '@');
    *ret = (struct address){
        .address = base_strdup(account),
        .user = at != NULL ? base_strndup(account, (size_t)(at - account)) : base_strdup(account),
        .detail = base_strdup(""),
        .domain = base_strdup(at != NULL ? at + 1 : ""),
    };
}

/* With config_is_shared, sets mailboxes that are NULL; variables stand for the account. Returns false with the error
 * set if its characters would name another account's mailbox, or *sent is \Sent, the login's own. */
static bool expand_mailboxes(const struct config *config, const char *account, char **inbox, char **sent,
                             struct error *error)
{
    if (!config_is_shared(config))
        return true;
    struct address parts OD_CLEANUP(address_clear) = {.address = NULL};
    split_account(account, &parts);
    if (!expand_mailbox("inbox", config->route.inbox, &parts, inbox, error) ||
        !expand_mailbox("sent", config->route.sent, &parts, sent, error))
        return false;
    return g_ascii_strcasecmp(*sent, "\\Sent") != 0 ||
           error_set(error, "account %s: \\Sent would be the mailbox of imap.user", account);
}

/* The sender chooses the detail: no path, no pattern. */
static bool detail_is_folder(const char *detail)
{
    struct error ignored;
    if (detail[0] == '\0' || strlen(detail) > 64 || detail[0] == '~' || detail[0] == '\\' ||
        strpbrk(detail, "/.%*") != NULL)
        return false;
    char *encoded OD_CLEANUP(base_free) = mailbox_name_encode(detail, &ignored);
    return encoded != NULL;
}

static enum route_result find_account(const struct config *config, struct ledger *ledger, const struct address *address,
                                      char *ret_columns[4], struct error *error)
{
    if (config->route.account_query[0] == '\0') {
        ret_columns[0] = expand("account", config->route.account, address, error);
        return ret_columns[0] != NULL ? ROUTE_OK : ROUTE_ERROR;
    }
    bool found;
    if (!ledger_account_query(ledger, config->route.account_query, address->address, &found, ret_columns, error))
        return ROUTE_ERROR;
    if (!found)
        error_set(error, "%s: no such account", address->address);
    return found ? ROUTE_OK : ROUTE_NONE;
}

/* INBOX (RFC 3501, 5.1) and \Sent (RFC 6154, 2) are one mailbox in any case. */
static char *one_name(char *name)
{
    static const char *const names[] = {"INBOX", "\\Sent"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (g_ascii_strcasecmp(name, names[i]) == 0)
            memcpy(name, names[i], strlen(names[i]));
    return name;
}

/* Names that IMAP cannot take must be found before a claim. */
static bool names_are_good(const struct route *route, struct error *error)
{
    const char *const names[] = {route->inbox, route->sent, route->fallback};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        char *encoded OD_CLEANUP(base_free) = names[i] != NULL ? mailbox_name_encode(names[i], error) : NULL;
        if (names[i] != NULL && encoded == NULL)
            return error_prefix(error, "mailbox of %s", route->address);
    }
    return true;
}

static bool account_is_good(const struct route *route, struct error *error)
{
    const char *account = route->account;
    return (account[0] != '\0' && strlen(account) <= ADDRESS_MAX && g_utf8_validate(account, -1, NULL)) ||
           error_set(
               error,
               "%s: its account is empty, not UTF-8 or longer than %d bytes (see route.account and account_query)",
               route->address, ADDRESS_MAX);
}

static const struct config *find_server(const struct config *config, const char *name, const struct address *address,
                                        struct error *error)
{
    char *expanded OD_CLEANUP(base_free) = name == NULL ? expand("server", config->route.server, address, error) : NULL;
    const char *wanted = name != NULL ? name : expanded;
    const struct config *server = wanted != NULL ? config_server(config, wanted) : NULL;
    if (wanted != NULL && server == NULL)
        error_set(error, "%s: its IMAP server is %s, but there is no group [imap %s] (see route.server)",
                  address->address, wanted, wanted);
    return server;
}

enum route_result route_find(const struct config *config, struct ledger *ledger, const struct address *address,
                             struct route *ret, struct error *error)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    char *columns[4] = {NULL}; /* set on ROUTE_OK; then the route's, except the server's name */
    enum route_result result = find_account(config, ledger, address, columns, error);
    if (result != ROUTE_OK)
        return result;
    bool folder = config->route.detail == DETAIL_FOLDER && detail_is_folder(address->detail);
    route.account_by = config->route.account_query[0] != '\0' ? QUERY : "route.account";
    route.inbox_by = folder ? "route.detail" : columns[1] != NULL ? QUERY : "route.inbox";
    route.sent_by = columns[2] != NULL ? QUERY : "route.sent";
    route.account = columns[0] != NULL ? columns[0] : base_strdup("");
    route.inbox = columns[1];
    route.sent = columns[2];
    char *server OD_CLEANUP(base_free) = columns[3];
    route.server_by = server != NULL ? QUERY : "route.server";
    route.server = find_server(config, server, address, error);
    bool copies = route.sent == NULL || route.sent[0] != '\0';
    if (route.server == NULL)
        return config->route.account_query[0] == '\0' ? ROUTE_NO_SERVER : ROUTE_ERROR;
    if (!expand_mailboxes(route.server, route.account, &route.inbox, &route.sent, error))
        return ROUTE_ERROR;
    route.inbox = one_name(route.inbox != NULL ? route.inbox : base_strdup(config->route.inbox));
    if (folder) {
        route.fallback = route.inbox;
        route.inbox = one_name(base_strdup(address->detail));
    }
    route.sent = one_name(route.sent != NULL ? route.sent : base_strdup(config->route.sent));
    if (!copies)
        base_free(&route.sent);
    route.address = base_strdup(address->address);
    route.domain = base_strdup(address->domain);
    if (config_is_shared(route.server))
        route.home = base_strdup(route.inbox);
    if (!account_is_good(&route, error) || !names_are_good(&route, error))
        return ROUTE_ERROR;
    *ret = route;
    memset(&route, 0, sizeof(route));
    return ROUTE_OK;
}

enum route_result route_leads_to(const struct config *config, struct ledger *ledger, const struct address *address,
                                 const char *account, const struct config **ret_server, struct error *error)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    enum route_result result = route_find(config, ledger, address, &route, error);
    if (result == ROUTE_OK && strcmp(route.account, account) != 0)
        return ROUTE_NONE;
    if (result == ROUTE_OK && ret_server != NULL)
        *ret_server = route.server;
    return result;
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

/* Mailboxes must name their owner if `shared`, and must not otherwise. The sender chooses the detail: it names none. */
static bool check_owner(const char *setting, const char *template, bool shared, struct error *error)
{
    bool names = strstr(template, "%{") != NULL;
    if (shared && (!names || strstr(template, "%{detail}") != NULL))
        return error_set(error, "[route] %s = %s: must say whose mailbox it is, with %%{user} or %%{address}", setting,
                         template);
    return shared || !names ||
           error_set(error, "[route] %s = %s: every account has its own mailboxes; variables are for imap.user",
                     setting, template);
}

static bool check_template(const char *setting, const char *template, struct error *error)
{
    char *expanded OD_CLEANUP(base_free) = expand(setting, template, NULL, error);
    return expanded != NULL;
}

static bool check_routes(const struct config *config, struct error *error)
{
    bool shared = config_is_shared(config);
    bool copies = config->route.sent_copy != SENT_COPY_OFF;
    if (!check_template("account", config->route.account, error) ||
        !check_template("server", config->route.server, error) ||
        !check_owner("inbox", config->route.inbox, shared, error) ||
        ((copies || !shared) && !check_owner("sent", config->route.sent, shared, error)))
        return false;
    if (shared && config->route.detail == DETAIL_FOLDER)
        return error_set(error,
                         "[route] detail = folder: the folder would be one of imap.user; not with route.inbox = %s",
                         config->route.inbox);
    return !shared ||
           (check_template("inbox", config->route.inbox, error) && check_template("sent", config->route.sent, error));
}

bool route_check(const struct config *config, struct error *error)
{
    bool good = check_routes(config, error);
    for (size_t i = 0; good && i < config_server_count(config); i++)
        good = check_routes(config->servers[i], error) || error_prefix(error, "[imap %s]", config->servers[i]->name);
    return good;
}
