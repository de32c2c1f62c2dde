/* SPDX-License-Identifier: ISC
 *
 * list: copies by state, time and recipient. */
#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
#include "ledger/ledger_list.h"

#define DEFAULT_LIMIT 50

struct options {
    struct ledger_filter filter;
    char since[24]; /* milliseconds, or @ and seconds since 1970 */
    char *recipient;
    bool json;
};

static bool is_state(const char *text)
{
    static const char *const states[] = {"pending", "appending", "stored", "failed", "abandoned", "unfinished", NULL};
    return g_strv_contains(states, text);
}

/* A date, perhaps with a time, perhaps with a zone: UTC, as everything is printed, when it names none. */
static bool take_time(struct options *options, const char *text)
{
    int year, month, day, hour = 0, minute = 0, second = 0, end = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3)
        return false;
    text += end;
    if (*text == 'T' || *text == ' ') {
        if (sscanf(++text, "%2d:%2d%n", &hour, &minute, &end) != 2)
            return false;
        text += end;
        text += sscanf(text, ":%2d%n", &second, &end) == 1 ? end : 0;
    }
    GTimeZone *zone = g_time_zone_new_identifier(*text != '\0' ? text : "Z");
    GDateTime *time = zone != NULL ? g_date_time_new(zone, year, month, day, hour, minute, second) : NULL;
    if (time != NULL)
        g_snprintf(options->since, sizeof(options->since), "@%" G_GINT64_FORMAT, g_date_time_to_unix(time));
    g_clear_pointer(&zone, g_time_zone_unref);
    bool valid = time != NULL;
    g_clear_pointer(&time, g_date_time_unref);
    return valid;
}

/* "2h", "7d": so long ago; else a date. */
static bool take_since(struct options *options, const char *text)
{
    int64_t ms;
    options->filter.since = options->since;
    if (!config_parse_duration(text, &ms) || strspn(text, "0123456789") == strlen(text))
        return take_time(options, text);
    g_snprintf(options->since, sizeof(options->since), "%" G_GINT64_FORMAT, (gint64)ms);
    return true;
}

static bool take_limit(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && *ret > 0 && errno == 0;
}

static bool take_option(int c, struct options *options)
{
    switch (c) {
    case 's':
        options->filter.state = optarg;
        return is_state(optarg);
    case 't':
        return take_since(options, optarg);
    case 'r':
        base_free(&options->recipient);
        options->recipient = g_utf8_strdown(optarg, -1);
        options->filter.recipient = options->recipient;
        return true;
    case 'l':
        return take_limit(optarg, &options->filter.limit);
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
        {"limit", required_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'J'},
        {0},
    };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "", words, NULL)) != -1;)
        if (!take_option(c, options))
            return false;
    return optind == argc;
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
        puts("no copy is like that");
    else
        table_print_list(table);
    if (!own->json && (int64_t)table->rows == own->filter.limit)
        fprintf(stderr, "These are the newest %zu; --limit shows more.\n", table->rows);
    return 0;
}

int cmd_list(const struct cmd_options *options, int argc, char **argv)
{
    struct options own = {.filter = {.limit = DEFAULT_LIMIT}};
    int status = parse_arguments(argc, argv, &own) ? list(options, &own) : cmd_usage("list");
    base_free(&own.recipient);
    return status;
}
