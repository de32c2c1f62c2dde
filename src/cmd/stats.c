/* SPDX-License-Identifier: ISC
 *
 * stats: figures for people, as JSON, or for Prometheus. */
#include "cmd/stats_figures.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
#include "ledger/ledger_report.h"
#include "ledger/ledger_total.h"

#define HOURS 24

/* The values of all rows with this name, by label. */
static json_t *counts_json(const struct stats *stats, const char *name)
{
    json_t *object = json_object();
    for (size_t row = 0; row < stats->ever->rows; row++)
        if (strcmp(ledger_cell(stats->ever, row, TOTAL_NAME), name) == 0)
            json_object_set_new(object, ledger_cell(stats->ever, row, TOTAL_LABEL),
                                json_integer(g_ascii_strtoll(ledger_cell(stats->ever, row, TOTAL_VALUE), NULL, 10)));
    return object;
}

static void print_json(const struct stats *stats)
{
    json_t *json = table_row_json(stats->totals, 0);
    json_object_set_new(json, "deliveries", counts_json(stats, "deliveries"));
    json_object_set_new(json, "deferrals", counts_json(stats, "deferrals"));
    json_object_set_new(json, "searches_in_doubt", json_integer((json_int_t)stats_count(stats, "searches", NULL)));
    json_object_set_new(json, "hours", table_json(stats->hours));
    table_print_json(json);
}

static bool ask(struct ledger *ledger, struct stats *stats, struct fault *fault)
{
    stats->totals = ledger_totals(ledger, fault);
    if (stats->totals != NULL)
        stats->ever = ledger_totals_ever(ledger, fault);
    if (stats->ever != NULL)
        stats->hours = ledger_hours(ledger, HOURS, fault);
    return stats->hours != NULL;
}

static void stats_clear(struct stats *stats)
{
    ledger_table_free(&stats->totals);
    ledger_table_free(&stats->ever);
    ledger_table_free(&stats->hours);
}

/* After the answer: the next one comes sooner. No harm if it fails, as on a standby. */
static void add_up(struct ledger *ledger)
{
    struct fault ignored;
    bool due = false;
    fflush(stdout);
    if (ledger_total_is_due(ledger, &due, &ignored) && due)
        due = ledger_total_up(ledger, &ignored);
}

int cmd_stats(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct stats stats OD_CLEANUP(stats_clear) = {.totals = NULL};
    bool json = false, prometheus = false;
    const struct cmd_option words[] = {{"json", .flag = &json}, {"prometheus", .flag = &prometheus}, {.name = NULL}};
    struct fault fault;
    bool good = cmd_parse(argc, argv, words, 0, 0, NULL);
    if (good && json && prometheus)
        good = cmd_wrong(argv, "give only one of --json and --prometheus");
    if (!good)
        return CMD_USAGE;
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    if (!ask(ledger, &stats, &fault))
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    if (json)
        print_json(&stats);
    else if (prometheus)
        stats_prometheus(&stats);
    else
        stats_page(&stats);
    add_up(ledger);
    return 0;
}
