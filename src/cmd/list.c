/* SPDX-License-Identifier: ISC
 *
 * list: copies by state, time, delay, queue id, sender and recipient. */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/since.h"
#include "cmd/table.h"
#include "cmd/usage.h"
#include "ledger/ledger_list.h"

#define DEFAULT_LIMIT 50

struct options {
    struct ledger_filter filter;
    char since[SINCE_SIZE];
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

static bool take_limit(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && *ret > 0 && errno == 0;
}

static bool take_option(int c, char **argv, struct options *options)
{
    switch (c) {
    case 's':
        options->filter.state = optarg;
        return is_state(optarg) ||
               usage_value(argv, "--state", optarg,
                           "pending, appending, stored, failed, abandoned or unfinished (pending or appending)");
    case 't':
        options->filter.since = options->since;
        return since_parse(optarg, options->since) || usage_value(argv, "--since", optarg, SINCE_ALLOWED);
    case 'r':
        base_free(&options->recipient);
        options->recipient = g_utf8_strdown(optarg, -1);
        options->filter.recipient = options->recipient;
        return true;
    case 'q':
        options->filter.queue_id = optarg;
        return true;
    case 'f':
        options->filter.sender = strcmp(optarg, "<>") == 0 ? "" : optarg;
        return true;
    case 'd':
        return take_delay(options, optarg) ||
               usage_value(argv, "--delay", optarg, "a number and ms, s, m, h or d, such as 5m");
    case 'l':
        return take_limit(optarg, &options->filter.limit) || usage_value(argv, "--limit", optarg, "a number from 1");
    case 'J':
        options->json = true;
        return true;
    default:
        return false;
    }
}

static bool parse_arguments(int argc, char **argv, struct options *options)
{
    static const struct option words[] = {
        {"state", required_argument, NULL, 's'},
        {"since", required_argument, NULL, 't'},
        {"recipient", required_argument, NULL, 'r'},
        {"sender", required_argument, NULL, 'f'},
        {"queue-id", required_argument, NULL, 'q'},
        {"delay", required_argument, NULL, 'd'},
        {"limit", required_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'J'},
        {0},
    };
    for (int c; (c = usage_option(argc, argv, "", words)) != -1;)
        if (!take_option(c, argv, options))
            return false;
    return usage_operands(argc, argv, 0, 0, "nothing");
}

static int list(const struct cmd_options *options, const struct options *own)
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
    int status = parse_arguments(argc, argv, &own) ? list(options, &own) : CMD_USAGE;
    base_free(&own.recipient);
    return status;
}
