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
static bool take_values(char **argv, struct options *options, const char *since, const char *delay, const char *limit)
{
    struct ledger_filter *filter = &options->filter;
    if (filter->state != NULL && !is_state(filter->state))
        return cmd_wrong_value(argv, "--state", filter->state,
                               "pending, appending, stored, failed, abandoned or unfinished (pending or appending)");
    if (since != NULL && !times_parse_since(since, options->since))
        return cmd_wrong_value(argv, "--since", since, TIMES_SINCE_ALLOWED);
    if (delay != NULL && !take_delay(options, delay))
        return cmd_wrong_value(argv, "--delay", delay, "a number and ms, s, m, h or d, such as 5m");
    if (limit != NULL && !g_ascii_string_to_signed(limit, 10, 1, INT64_MAX, &filter->limit, NULL))
        return cmd_wrong_value(argv, "--limit", limit, "a number from 1");
    filter->since = since != NULL ? options->since : NULL;
    if (filter->sender != NULL && strcmp(filter->sender, "<>") == 0)
        filter->sender = "";
    if (filter->recipient != NULL)
        filter->recipient = options->recipient = g_utf8_strdown(filter->recipient, -1);
    return true;
}

static bool parse_arguments(int argc, char **argv, struct options *options)
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
    return cmd_parse(argc, argv, words, 0, 0, NULL) && take_values(argv, options, since, delay, limit);
}

static int print_list(const struct cmd_options *options, const struct options *own)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct fault fault;
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = ledger_list(ledger, &own->filter, &fault);
    if (table == NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    if (own->json)
        table_print_json(table_json(table));
    else if (table->rows == 0)
        puts("no matching copies");
    else
        table_print_list(table);
    if (!own->json && (int64_t)table->rows == own->filter.limit)
        fprintf(stderr, "These are the newest %zu; --limit shows more.\n", table->rows);
    return 0;
}

int cmd_list(const struct cmd_options *options, int argc, char **argv)
{
    struct options own = {.filter = {.limit = DEFAULT_LIMIT}};
    int status = parse_arguments(argc, argv, &own) ? print_list(options, &own) : CMD_USAGE;
    base_free(&own.recipient);
    return status;
}
