/* SPDX-License-Identifier: ISC
 *
 * Prometheus's text format, version 0.0.4. */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "cmd/cmd.h"

static void print_head(const char *name, const char *type, const char *help)
{
    printf("# HELP oncedrop_%s %s\n# TYPE oncedrop_%s %s\n", name, help, name, type);
}

static void print_gauges(const struct sql_rows *totals)
{
    static const char *const states[] = {"stored", "pending", "appending", "failed", "expired"};
    static const struct {
        const char *column, *name, *help;
    } gauges[] = {
        {"messages", "messages", "Messages in the record"},
        {"bytes", "message_bytes", "Sum of their sizes"},
        {"unfinished", "deliveries_unfinished", "Deliveries that Postfix is expected to retry"},
        {"oldest_unfinished", "oldest_unfinished_seconds", "Time since the first try of the oldest of them"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(gauges); i++) {
        print_head(gauges[i].name, "gauge", gauges[i].help);
        printf("oncedrop_%s %.0f\n", gauges[i].name, stats_number(totals, 0, gauges[i].column));
    }
    print_head("copies", "gauge", "Copies in the record by state");
    for (size_t i = 0; i < G_N_ELEMENTS(states); i++)
        printf("oncedrop_copies{state=\"%s\"} %.0f\n", states[i], stats_number(totals, 0, states[i]));
}

/* label: or NULL. */
static void print_counter(const struct stats *stats, const char *count, const char *name, const char *label,
                          const char *help)
{
    print_head(name, "counter", help);
    for (size_t row = 0; stats_next(stats, count, NULL, &row); row++) {
        if (label != NULL)
            printf("oncedrop_%s{%s=\"%s\"} %s\n", name, label, stats_cell(stats, row, COUNTERS_LABEL),
                   stats_cell(stats, row, COUNTERS_VALUE));
        else
            printf("oncedrop_%s %s\n", name, stats_cell(stats, row, COUNTERS_VALUE));
    }
}

/* Prints a label's histogram. Returns the next row. Buckets are cumulative, so those below least_ms can be omitted. */
static size_t print_series(const struct stats *stats, size_t row, const char *count, const char *name,
                           const char *label, int64_t least_ms)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    const char *value = stats_cell(stats, row, COUNTERS_LABEL);
    char *labels OD_CLEANUP(base_free) = label != NULL ? base_printf("%s=\"%s\"", label, value) : base_strdup("");
    const char *comma = label != NULL ? "," : "", *open = label != NULL ? "{" : "", *close = label != NULL ? "}" : "";
    char *sum OD_CLEANUP(base_free) = base_printf("%s_ms", count);
    int64_t below = 0, ms = -1;
    while (ms != 0) {
        ms = g_ascii_strtoll(stats_cell(stats, row, COUNTERS_LE), NULL, 10);
        below += g_ascii_strtoll(stats_cell(stats, row++, COUNTERS_VALUE), NULL, 10);
        if (ms == 0 || ms >= least_ms)
            printf("oncedrop_%s_bucket{%s%sle=\"%s\"} %" PRId64 "\n", name, labels, comma,
                   ms != 0 ? stats_seconds(ms, text) : "+Inf", below);
    }
    printf("oncedrop_%s_sum%s%s%s %s\n", name, open, labels, close,
           stats_seconds((int64_t)stats_count(stats, sum, value), text));
    printf("oncedrop_%s_count%s%s%s %" PRId64 "\n", name, open, labels, close, below);
    return row;
}

static void print_histogram(const struct stats *stats, const char *count, const char *name, const char *label,
                            int64_t least_ms, const char *help)
{
    print_head(name, "histogram", help);
    for (size_t row = 0; stats_next(stats, count, NULL, &row);)
        row = print_series(stats, row, count, name, label, least_ms);
}

static void print_host(const struct stats *stats)
{
    print_head("up", "gauge", "Whether the ledger answered; if not, all that it knows is missing here");
    printf("oncedrop_up %d\n", stats->up);
    print_head("build_info", "gauge", "The program and its kind of ledger; always 1");
    printf("oncedrop_build_info{version=\"%s\",engine=\"%s\"} 1\n", VERSION, stats->engine);
    if (stats->unrecorded < 0)
        return;
    print_head("deferrals_unrecorded_total", "counter",
               "Tries of this host deferred for lack of a ledger, which no ledger has");
    printf("oncedrop_deferrals_unrecorded_total %" PRId64 "\n", stats->unrecorded);
}

static void print_ledger(const struct stats *stats)
{
    print_gauges(stats->totals);
    print_counter(stats, "deliveries", "deliveries_total", "outcome",
                  "Tries to deliver a message to a recipient, by outcome");
    print_counter(stats, "deferrals", "deferrals_total", "reason", "Deferred tries, by reason");
    print_counter(stats, "searches", "doubt_searches_total", NULL,
                  "Searches of a mailbox for a copy that an earlier try may have stored");
    print_histogram(stats, "phase", "phase_seconds", "phase", 0, "Time that tries spent on each phase");
    print_histogram(stats, "delay", "delay_seconds", NULL, STATS_DELAY_LEAST_MS,
                    "Time from when Postfix received a message to when it was stored");
}

void stats_prometheus(const struct stats *stats)
{
    print_host(stats);
    if (stats->up)
        print_ledger(stats);
}
