/* SPDX-License-Identifier: ISC
 *
 * route: where an address leads to, as a delivery finds it. */
#include "route/route.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/privilege.h"
#include "cmd/cmd.h"
#include "cmd/table.h"

/* Connects to the database if account_query needs it; otherwise *ret is NULL. */
static int open_ledger(const struct config *config, struct ledger **ret)
{
    struct fault fault;
    if (config->route.account_query[0] == '\0')
        return 0;
    *ret = ledger_open(config, NULL, &fault);
    return *ret != NULL ? 0 : cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
}

static enum route_result find(const struct config *config, struct ledger *ledger, const char *text, struct route *ret,
                              struct fault *fault)
{
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    char *clean OD_CLEANUP(base_free) = address_clean(text);
    if (!address_parse(clean, &address, fault))
        return ROUTE_NONE;
    return route_find(config, ledger, &address, ret, fault);
}

static void print_one(const char *name, const char *value, const char *by)
{
    char escaped[2048];
    char *text OD_CLEANUP(base_free) = base_printf("%s (%s)", log_escape(value, escaped, sizeof(escaped)), by);
    table_print_line(name, text);
}

static void print_route(const char *text, const struct route *route, bool first)
{
    char escaped[2048];
    fputs(first ? "" : "\n", stdout);
    table_print_line("address", log_escape(text, escaped, sizeof(escaped)));
    print_one("account", route->account, route->account_by);
    print_one("inbox", route->inbox, route->inbox_by);
    print_one("sent", route->sent, route->sent_by);
    fflush(stdout);
}

static json_t *route_json(const char *text, const struct route *route)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s, s:s}", "address", table_json_text(text), "account",
                     table_json_text(route->account), "inbox", table_json_text(route->inbox), "sent",
                     table_json_text(route->sent), "account_by", route->account_by, "inbox_by", route->inbox_by,
                     "sent_by", route->sent_by);
}

static json_t *error_json(const char *text, const struct fault *fault)
{
    return json_pack("{s:o, s:n, s:o}", "address", table_json_text(text), "account", "error",
                     table_json_text(fault->text));
}

/* Reports on one address; list is NULL unless the output is JSON. Returns the exit status. */
static int tell(const struct config *config, struct ledger *ledger, const char *text, bool first, json_t *list)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    struct fault fault;
    enum route_result result = find(config, ledger, text, &route, &fault);
    if (result != ROUTE_OK) {
        if (list != NULL)
            json_array_append_new(list, error_json(text, &fault));
        return cmd_fail(result == ROUTE_NONE ? 1 : EX_UNAVAILABLE, "%s", fault.text);
    }
    if (list != NULL)
        json_array_append_new(list, route_json(text, &route));
    else
        print_route(text, &route, first);
    return 0;
}

static int tell_all(const struct config *config, char **addresses, int count, bool json)
{
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    int worst = open_ledger(config, &ledger);
    if (worst != 0)
        return worst;
    json_t *list = json ? json_array() : NULL;
    for (int i = 0; i < count && worst != EX_UNAVAILABLE; i++) {
        int status = tell(config, ledger, addresses[i], i == 0, list);
        worst = status > worst ? status : worst;
    }
    if (list != NULL)
        table_print_json(list);
    return worst;
}

int cmd_route(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    bool json = false;
    const struct cmd_option words[] = {{"json", .flag = &json}, {.name = NULL}};
    if (!cmd_parse(argc, argv, words, 1, argc, "ADDRESS"))
        return CMD_USAGE;
    privilege_clear_environment(cmd_environment); /* as for a delivery */
    int status = cmd_open(options, &config, NULL);
    if (status == 0)
        status = cmd_become_service(config, false);
    return status != 0 ? status : tell_all(config, argv + optind, argc - optind, json);
}
