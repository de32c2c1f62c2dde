/* SPDX-License-Identifier: ISC
 *
 * list: copies by state, time, delay, queue id, sender and recipient. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
#include "cmd/times.h"
#include "ledger/ledger_report.h"

#define DEFAULT_LIMIT 50

struct options {
    struct ledger_filter filter;
    char since[TIMES_SIZE];
    char delay[24]; /* milliseconds */
    char *recipient;
    bool json;
};

static bool is_state(const char *text)
{
    static const char *const states[] = {"pending", "appending", "stored", "failed", "abandoned", "unfinished", NULL};
    return g_strv_contains(states, text);
}

static bool take_delay(struct options *options, const char *text)
{
    int64_t ms;
    if (!config_parse_duration(text, &ms))
        return false;
    g_snprintf(options->delay, sizeof(options->delay), "%" G_GINT64_FORMAT, (gint64)ms);
    options->filter.delay = options->delay;
    return true;
}

/* Takes the values over as the filter has them. */
static bool take_values(const struct cmd *cmd, struct options *options, const char *since, const char *delay,
                        const char *limit)
{
    struct ledger_filter *filter = &options->filter;
    if (filter->state != NULL && !is_state(filter->state))
        return cmd_wrong_value(cmd, "--state", filter->state,
                               "pending, appending, stored, failed, abandoned or unfinished (pending or appending)");
    if (since != NULL && !times_parse_since(since, options->since))
        return cmd_wrong_value(cmd, "--since", since, TIMES_SINCE_ALLOWED);
    if (delay != NULL && !take_delay(options, delay))
        return cmd_wrong_value(cmd, "--delay", delay, "a number and ms, s, m, h or d, such as 5m");
    if (limit != NULL && !g_ascii_string_to_signed(limit, 10, 1, INT64_MAX, &filter->limit, NULL))
        return cmd_wrong_value(cmd, "--limit", limit, "a number from 1");
    filter->since = since != NULL ? options->since : NULL;
    if (filter->sender != NULL && strcmp(filter->sender, "<>") == 0)
        filter->sender = "";
    if (filter->recipient != NULL)
        filter->recipient = options->recipient = g_utf8_strdown(filter->recipient, -1);
    return true;
}

static bool parse_listing(struct cmd *cmd, struct options *options)
{
    const char *since = NULL, *delay = NULL, *limit = NULL;
    struct ledger_filter *filter = &options->filter;
    const struct cmd_option words[] = {
        {"state", .text = &filter->state},
        {"since", .text = &since},
        {"recipient", .text = &filter->recipient},
        {"sender", .text = &filter->sender},
        {"queue-id", .text = &filter->queue_id},
        {"delay", .text = &delay},
        {"limit", .text = &limit},
        {"json", .flag = &options->json},
        {.name = NULL},
    };
    return cmd_parse(cmd, words, 0, 0, NULL) && take_values(cmd, options, since, delay, limit);
}

static int print_list(struct cmd *cmd, const struct options *options)
{
    int status = cmd_connect(cmd);
    if (status != 0)
        return status;
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = ledger_list(cmd->ledger, &options->filter, &cmd->fault);
    if (table == NULL)
        return cmd_fault(EX_UNAVAILABLE, cmd);
    if (options->json)
        table_print_json(table_json(table));
    else if (table->rows == 0)
        puts("no matching copies");
    else
        table_print_list(table);
    if (!options->json && (int64_t)table->rows == options->filter.limit)
        fprintf(stderr, "These are the newest %zu; --limit shows more.\n", table->rows);
    return 0;
}

int cmd_list(struct cmd *cmd)
{
    struct options options = {.filter = {.limit = DEFAULT_LIMIT}};
    int status = parse_listing(cmd, &options) ? print_list(cmd, &options) : CMD_USAGE;
    base_free(&options.recipient);
    return status;
}
