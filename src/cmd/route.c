/* SPDX-License-Identifier: ISC
 *
 * route: where an address leads. */
#include <stdio.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "replay/replay.h"

static void print_one(const char *name, const char *value, const char *by)
{
    char escaped[2048];
    printf("%s: %s (%s)\n", name, log_escape(value, escaped, sizeof(escaped)), by);
}

static void print_route(const char *text, const struct route *route, bool first)
{
    char escaped[2048];
    printf("%saddress: %s\n", first ? "" : "\n", log_escape(text, escaped, sizeof(escaped)));
    print_one("account", route->account, route->account_by);
    print_one("inbox", route->inbox, route->inbox_by);
    print_one("sent", route->sent != NULL ? route->sent : "no copies", route->sent_by);
    if (*route->server->name != '\0')
        print_one("server", route->server->name, route->server_by);
    fflush(stdout);
}

static json_t *route_json(const char *text, const struct route *route)
{
    const char *server = *route->server->name != '\0' ? route->server->name : NULL;
    return json_pack("{s:o, s:o, s:o, s:o?, s:s*, s:s, s:s, s:s, s:s*}", "address", replay_json_text(text), "account",
                     replay_json_text(route->account), "inbox", replay_json_text(route->inbox), "sent",
                     route->sent != NULL ? replay_json_text(route->sent) : NULL, "server", server, "account_by",
                     route->account_by, "inbox_by", route->inbox_by, "sent_by", route->sent_by, "server_by",
                     server != NULL ? route->server_by : NULL);
}

/* list: NULL unless JSON. Returns the exit status. */
static int report_address(struct cmd *cmd, const char *text, bool first, json_t *list)
{
    struct route route OD_CLEANUP(route_clear) = {.account = NULL};
    enum route_result result = cmd_find_route(cmd, text, &route);
    if (result == ROUTE_OK && list == NULL)
        print_route(text, &route, first);
    else if (result == ROUTE_OK)
        json_array_append_new(list, route_json(text, &route));
    if (result == ROUTE_OK)
        return 0;
    if (list != NULL)
        json_array_append_new(list, json_pack("{s:o, s:n, s:o}", "address", replay_json_text(text), "account", "error",
                                              replay_json_text(cmd->error.text)));
    return cmd_error(result == ROUTE_ERROR ? EX_UNAVAILABLE : 1, cmd);
}

static int report_addresses(struct cmd *cmd)
{
    int worst = 0;
    json_t *list = cmd->options.json ? json_array() : NULL;
    for (char **address = cmd->operands; *address != NULL && worst != EX_UNAVAILABLE; address++) {
        int status = report_address(cmd, *address, address == cmd->operands, list);
        worst = MAX(status, worst);
    }
    if (list != NULL)
        table_print_json(list);
    return worst;
}

int cmd_route(struct cmd *cmd)
{
    cmd_clear_environment();
    int status = cmd_open(cmd, CMD_AS_SERVICE);
    if (status != 0)
        return status;
    if (cmd->config->route.account_query[0] != '\0' &&
        (cmd->ledger = ledger_open(cmd->config, NULL, &cmd->error)) == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    return report_addresses(cmd);
}
