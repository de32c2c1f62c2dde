/* SPDX-License-Identifier: ISC
 *
 * stats: totals and hours, for people, as JSON, or for Prometheus. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
#include "cmd/usage.h"
#include "ledger/ledger_list.h"

#define HOURS 24
#define BAR_WIDTH 19 /* a line has 80 columns then */

enum { HOUR, HOUR_STORED, HOUR_BYTES, HOUR_RETRIED, HOUR_P50, HOUR_P95, HOUR_P99 };

struct options {
    bool json, prometheus;
};

static bool parse_arguments(int argc, char **argv, struct options *options)
{
    static const struct option words[] = {{"json", no_argument, NULL, 'J'},
                                          {"prometheus", no_argument, NULL, 'P'},
                                          {0}};
    for (int c; (c = usage_option(argc, argv, "", words)) != -1;) {
        if (c == USAGE_WRONG)
            return false;
        options->json = options->json || c == 'J';
        options->prometheus = options->prometheus || c == 'P';
    }
    if (options->json && options->prometheus)
        return usage_wrong(argv, "one of --json and --prometheus");
    return usage_operands(argc, argv, 0, 0, "nothing");
}

static double number(const struct ledger_table *table, size_t row, size_t column)
{
    return g_ascii_strtod(ledger_cell(table, row, column), NULL);
}

/* The hours with a bar for what was stored in each. */
static void print_hours(const struct ledger_table *hours)
{
    double most = 1;
    for (size_t row = 0; row < hours->rows; row++)
        most = MAX(most, number(hours, row, HOUR_STORED));
    table_heading(
        "stored in recipients' mailboxes, by hour (UTC); seconds from the first attempt to the one that did it");
    printf("%-14s %8s %8s %8s %8s %8s\n", "hour", "stored", "retried", "p50", "p95", "p99");
    for (size_t row = 0; row < hours->rows; row++) {
        double stored = number(hours, row, HOUR_STORED);
        int filled = (int)(stored / most * BAR_WIDTH + 0.5);
        printf("%.13s  %8.0f %8.0f %8.3f %8.3f %8.3f  %.*s\n", ledger_cell(hours, row, HOUR), stored,
               number(hours, row, HOUR_RETRIED), number(hours, row, HOUR_P50), number(hours, row, HOUR_P95),
               number(hours, row, HOUR_P99), MAX(filled, 1), "###################");
    }
}

static void print_text(const struct ledger_table *totals, const struct ledger_table *hours)
{
    table_print_row(totals, 0);
    if (hours->rows > 0)
        print_hours(hours);
}

static void print_json(const struct ledger_table *totals, const struct ledger_table *hours)
{
    json_t *json = table_row_json(totals, 0);
    json_object_set_new(json, "hours", table_json(hours));
    table_print_json(json);
}

/* One metric in the text format that node_exporter's textfile collector reads. */
static void print_metric(const char *name, const char *help, const char *labels, const char *value)
{
    if (help != NULL)
        printf("# HELP oncedrop_%s %s\n# TYPE oncedrop_%s gauge\n", name, help, name);
    printf("oncedrop_%s%s %s\n", name, labels, value);
}

static void print_prometheus(const struct ledger_table *totals, const struct ledger_table *hours)
{
    static const char *const states[] = {"stored", "pending", "appending", "failed"};
    static const struct {
        const char *column, *name, *help;
    } metrics[] = {
        {"messages", "messages", "Messages in the ledger"},
        {"bytes", "message_bytes", "Sum of their sizes"},
        {"unfinished", "deliveries_unfinished", "Deliveries that Postfix is to come again with"},
        {"oldest_unfinished", "oldest_unfinished_seconds", "Age of the oldest of them"},
        {"duplicates", "deliveries_duplicate", "Deliveries whose message was there already"},
    };
    for (size_t column = 0; column < totals->columns; column++) {
        for (size_t i = 0; i < G_N_ELEMENTS(metrics); i++)
            if (strcmp(totals->names[column], metrics[i].column) == 0)
                print_metric(metrics[i].name, metrics[i].help, "", ledger_cell(totals, 0, column));
        for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
            char labels[40];
            g_snprintf(labels, sizeof(labels), "{state=\"%s\"}", states[i]);
            if (strcmp(totals->names[column], states[i]) == 0)
                print_metric("copies", i == 0 ? "Copies by state" : NULL, labels, ledger_cell(totals, 0, column));
        }
    }
    if (hours->rows == 0)
        return;
    size_t last = hours->rows - 1;
    print_metric("delivery_seconds", "From the first attempt to the one that stored it, in the last hour with any",
                 "{quantile=\"0.5\"}", ledger_cell(hours, last, HOUR_P50));
    print_metric("delivery_seconds", NULL, "{quantile=\"0.95\"}", ledger_cell(hours, last, HOUR_P95));
    print_metric("delivery_seconds", NULL, "{quantile=\"0.99\"}", ledger_cell(hours, last, HOUR_P99));
}

int cmd_stats(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct options own = {.json = false};
    struct fault fault;
    if (!parse_arguments(argc, argv, &own))
        return cmd_usage("stats");
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    struct ledger_table *totals OD_CLEANUP(ledger_table_free) = ledger_totals(ledger, &fault);
    struct ledger_table *hours OD_CLEANUP(ledger_table_free) = totals != NULL ? ledger_hours(ledger, HOURS, &fault)
                                                                              : NULL;
    if (hours == NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    if (own.json)
        print_json(totals, hours);
    else if (own.prometheus)
        print_prometheus(totals, hours);
    else
        print_text(totals, hours);
    return 0;
}
