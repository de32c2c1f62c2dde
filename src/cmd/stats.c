/* SPDX-License-Identifier: ISC
 *
 * stats: as text, JSON, or for Prometheus (its text format, version 0.0.4). */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"

#define HOURS 24
#define DELAY_LEAST_MS 1000 /* Postfix reports arrivals in whole seconds, so buckets of delays begin here */

struct stats {
    const char *engine;
    bool up;                         /* the ledger replied; else no tables */
    struct sql_rows *totals, *hours; /* ledger_query.h */
    struct sql_rows *ever;           /* ledger_counter.c */
    struct sql_rows *feeds;          /* ledger_feed.c */
    int64_t unrecorded;              /* deferrals outside the ledger (log.unrecorded_file); -1: unknown */
};

static const char *stats_cell(const struct stats *stats, size_t row, size_t column)
{
    return sql_text(stats->ever, row, column);
}

/* Moves *row to the first all-time count from there on with this name and label (NULL: any). Returns false at the
 * end. */
static bool stats_next(const struct stats *stats, const char *name, const char *label, size_t *row)
{
    while (*row < stats->ever->count &&
           (strcmp(stats_cell(stats, *row, COUNTERS_NAME), name) != 0 ||
            (label != NULL && strcmp(stats_cell(stats, *row, COUNTERS_LABEL), label) != 0)))
        (*row)++;
    return *row < stats->ever->count;
}

/* Returns the sum of the rows with this name and label. */
static double stats_count(const struct stats *stats, const char *name, const char *label)
{
    double sum = 0;
    for (size_t row = 0; stats_next(stats, name, label, &row); row++)
        sum += g_ascii_strtod(stats_cell(stats, row, COUNTERS_VALUE), NULL);
    return sum;
}

/* Returns seconds in any locale: "0.25". */
static const char *stats_seconds(int64_t ms, char text[G_ASCII_DTOSTR_BUF_SIZE])
{
    return g_ascii_formatd(text, G_ASCII_DTOSTR_BUF_SIZE, "%.10g", (double)ms / 1000);
}

static void print_stats(const struct stats *stats, const char *name)
{
    const char *between = ":";
    printf("%s", name);
    for (size_t row = 0; stats_next(stats, name, NULL, &row); row++, between = ",")
        printf("%s %s %s", between, stats_cell(stats, row, COUNTERS_LABEL), stats_cell(stats, row, COUNTERS_VALUE));
    putchar('\n');
}

/* Adds the bound of this share of the attempts, at least least_ms, in seconds. */
static void add_quantile(struct sql_rows *table, const struct stats *stats, const char *name, const char *label,
                         double share, int64_t least_ms)
{
    double all = stats_count(stats, name, label), below = 0;
    int64_t ms = 0, longest = 0;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    bool found = false;
    for (size_t row = 0; !found && stats_next(stats, name, label, &row); row++) {
        ms = g_ascii_strtoll(stats_cell(stats, row, COUNTERS_LE), NULL, 10); /* 0: no bound */
        below += g_ascii_strtod(stats_cell(stats, row, COUNTERS_VALUE), NULL);
        longest = MAX(longest, ms);
        found = below >= share * all && ms > 0 && ms >= least_ms;
    }
    char *cell OD_CLEANUP(base_free) = base_printf("%s%s", found ? "" : ">", stats_seconds(found ? ms : longest, text));
    sql_rows_add_text(table, cell);
}

static void print_phases(const struct stats *stats)
{
    static const char *const names[] = {"seconds", "p50", "p95", "p99"};
    static const struct {
        const char *name, *label, *text;
        int64_t least_ms;
    } phases[] = {
        {"phase", "read", "read", 0}, {"phase", "lock", "lock", 0},           {"phase", "database", "database", 0},
        {"phase", "imap", "imap", 0}, {"delay", "", "delay", DELAY_LEAST_MS},
    };
    struct sql_rows *table OD_CLEANUP(sql_rows_free) = ledger_table_new(names, G_N_ELEMENTS(names));
    table->types[1] = table->types[2] = table->types[3] = SQL_TYPE_NUMBER;
    for (size_t i = 0; i < G_N_ELEMENTS(phases); i++) {
        if (stats_count(stats, phases[i].name, phases[i].label) == 0)
            continue;
        sql_rows_add_text(table, phases[i].text);
        add_quantile(table, stats, phases[i].name, phases[i].label, 0.5, phases[i].least_ms);
        add_quantile(table, stats, phases[i].name, phases[i].label, 0.95, phases[i].least_ms);
        add_quantile(table, stats, phases[i].name, phases[i].label, 0.99, phases[i].least_ms);
    }
    table_print(table, NULL);
}

static void stats_text(const struct stats *stats)
{
    if (stats->up) {
        table_print_row(stats->totals, 0);
        print_stats(stats, "deliveries");
        print_stats(stats, "deferrals");
        printf("searches_in_doubt: %.0f\n", stats_count(stats, "searches", NULL));
    }
    if (stats->unrecorded >= 0)
        printf("unrecorded: %" PRId64 "\n", stats->unrecorded);
    if (stats->up)
        print_phases(stats);
    if (stats->feeds != NULL && stats->feeds->count > 0)
        table_print(stats->feeds, NULL);
}

static json_t *counts_json(const struct stats *stats, const char *name)
{
    json_t *object = json_object();
    for (size_t row = 0; stats_next(stats, name, NULL, &row); row++)
        json_object_set_new(object, stats_cell(stats, row, COUNTERS_LABEL),
                            json_integer(g_ascii_strtoll(stats_cell(stats, row, COUNTERS_VALUE), NULL, 10)));
    return object;
}

static void stats_json(const struct stats *stats)
{
    json_t *json = stats->up ? table_row_json(stats->totals, 0) : json_object();
    if (stats->up) {
        json_object_set_new(json, "deliveries", counts_json(stats, "deliveries"));
        json_object_set_new(json, "deferrals", counts_json(stats, "deferrals"));
        json_object_set_new(json, "searches_in_doubt", json_integer((json_int_t)stats_count(stats, "searches", NULL)));
        json_object_set_new(json, "hours", table_json(stats->hours));
        json_object_set_new(json, "feeds", table_json(stats->feeds));
    }
    json_object_set_new(json, "unrecorded", stats->unrecorded >= 0 ? json_integer(stats->unrecorded) : json_null());
    table_print_json(json);
}

static double total_of(const struct sql_rows *totals, const char *column)
{
    for (size_t i = 0; i < totals->columns; i++)
        if (strcmp(totals->names[i], column) == 0)
            return g_ascii_strtod(sql_text(totals, 0, i), NULL);
    return 0;
}

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
        printf("oncedrop_%s %.0f\n", gauges[i].name, total_of(totals, gauges[i].column));
    }
    print_head("copies", "gauge", "Copies in the record by state");
    for (size_t i = 0; i < G_N_ELEMENTS(states); i++)
        printf("oncedrop_copies{state=\"%s\"} %.0f\n", states[i], total_of(totals, states[i]));
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

/* Each label's rows end with the one without a bound. Buckets are cumulative, so those below least_ms can be omitted. */
static void print_histogram(const struct stats *stats, const char *count, const char *name, const char *label,
                            int64_t least_ms, const char *help)
{
    const char *comma = label != NULL ? "," : "", *open = label != NULL ? "{" : "", *close = label != NULL ? "}" : "";
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    char *sum OD_CLEANUP(base_free) = base_printf("%s_ms", count);
    int64_t below = 0;
    print_head(name, "histogram", help);
    for (size_t row = 0; stats_next(stats, count, NULL, &row); row++) {
        int64_t ms = g_ascii_strtoll(stats_cell(stats, row, COUNTERS_LE), NULL, 10);
        const char *value = stats_cell(stats, row, COUNTERS_LABEL);
        char *labels OD_CLEANUP(base_free) = label != NULL ? base_printf("%s=\"%s\"", label, value) : base_strdup("");
        below += g_ascii_strtoll(stats_cell(stats, row, COUNTERS_VALUE), NULL, 10);
        if (ms == 0 || ms >= least_ms)
            printf("oncedrop_%s_bucket{%s%sle=\"%s\"} %" PRId64 "\n", name, labels, comma,
                   ms != 0 ? stats_seconds(ms, text) : "+Inf", below);
        if (ms != 0)
            continue;
        printf("oncedrop_%s_sum%s%s%s %s\n", name, open, labels, close,
               stats_seconds((int64_t)stats_count(stats, sum, value), text));
        printf("oncedrop_%s_count%s%s%s %" PRId64 "\n", name, open, labels, close, below);
        below = 0;
    }
}

/* One with each column, for each feed in which anything waits. */
static void print_feeds(const struct sql_rows *feeds)
{
    static const struct {
        size_t column;
        const char *name, *help;
    } gauges[] = {
        {LIST_FEEDS_WAITING, "feed_waiting", "Messages that wait in a feed for an application"},
        {LIST_FEEDS_DEAD, "feed_dead", "Messages of a feed that are not tried any more"},
        {LIST_FEEDS_WAITS_S, "feed_oldest_seconds", "For how long the oldest message of a feed has waited"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(gauges); i++) {
        print_head(gauges[i].name, "gauge", gauges[i].help);
        for (size_t row = 0; row < feeds->count; row++)
            printf("oncedrop_%s{feed=\"%s\"} %s\n", gauges[i].name, sql_text(feeds, row, LIST_FEEDS_FEED),
                   sql_text(feeds, row, gauges[i].column));
    }
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

static void stats_prometheus(const struct stats *stats)
{
    print_host(stats);
    if (!stats->up)
        return;
    print_gauges(stats->totals);
    print_feeds(stats->feeds);
    print_counter(stats, "deliveries", "deliveries_total", "outcome",
                  "Tries to deliver a message to a recipient, by outcome");
    print_counter(stats, "deferrals", "deferrals_total", "reason", "Deferred tries, by reason");
    print_counter(stats, "searches", "doubt_searches_total", NULL,
                  "Searches of a mailbox for a copy that an earlier try may have stored");
    print_histogram(stats, "phase", "phase_seconds", "phase", 0, "Time that tries spent on each phase");
    print_histogram(stats, "delay", "delay_seconds", NULL, DELAY_LEAST_MS,
                    "Time from when Postfix received a message to when it was stored");
}

static bool read_figures(struct cmd *cmd, struct stats *stats)
{
    return (stats->totals = ledger_totals(cmd->ledger, &cmd->error)) != NULL &&
           (stats->ever = ledger_counters(cmd->ledger, &cmd->error)) != NULL &&
           (stats->feeds = ledger_feed_list(cmd->ledger, &cmd->error)) != NULL &&
           (stats->hours = ledger_hours(cmd->ledger, HOURS, &cmd->error)) != NULL;
}

/* Returns the exit status. After a failure, stats has what needs no ledger. */
static int begin_stats(struct cmd *cmd, struct stats *stats)
{
    static const char *const engines[] = {
        [CONFIG_ENGINE_POSTGRES] = "postgres", [CONFIG_ENGINE_SQLITE] = "sqlite", [CONFIG_ENGINE_MARIADB] = "mariadb"};
    int status = cmd_open_ledger(cmd);
    if (status == 0 && !read_figures(cmd, stats))
        status = cmd_error(EX_UNAVAILABLE, cmd);
    stats->up = status == 0;
    if (cmd->config == NULL)
        return status;
    stats->engine = engines[config_engine(cmd->config)];
    if (cmd->config->log.unrecorded_file[0] == '\0' ||
        !counter_read(cmd->config->log.unrecorded_file, &stats->unrecorded))
        stats->unrecorded = -1;
    return status;
}

static void stats_clear(struct stats *stats)
{
    sql_rows_free(&stats->totals);
    sql_rows_free(&stats->ever);
    sql_rows_free(&stats->feeds);
    sql_rows_free(&stats->hours);
}

/* Speeds up the next run. May fail, as on a standby. */
static void add_up(struct cmd *cmd)
{
    bool due = false;
    fflush(stdout);
    if (ledger_counter_is_due(cmd->ledger, &due, &cmd->error) && due)
        due = ledger_counter_update(cmd->ledger, &cmd->error);
}

int cmd_stats(struct cmd *cmd)
{
    struct stats stats OD_CLEANUP(stats_clear) = {.totals = NULL};
    int status = begin_stats(cmd, &stats);
    if (stats.engine == NULL)
        return status;
    if (cmd->options.json)
        stats_json(&stats);
    else if (cmd->options.prometheus)
        stats_prometheus(&stats);
    else
        stats_text(&stats);
    if (stats.up)
        add_up(cmd);
    return status;
}
