/* SPDX-License-Identifier: ISC
 *
 * stats: as text, JSON, or for Prometheus. */
#include "cmd/cmd.h"
#include "cmd/table.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/counter.h"

#define HOURS 24

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
        {"phase", "read", "read", 0},
        {"phase", "lock", "lock", 0},
        {"phase", "database", "database", 0},
        {"phase", "imap", "imap", 0},
        {"delay", "", "delay", STATS_DELAY_LEAST_MS},
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
    }
    json_object_set_new(json, "unrecorded", stats->unrecorded >= 0 ? json_integer(stats->unrecorded) : json_null());
    table_print_json(json);
}

static bool read_figures(struct cmd *cmd, struct stats *stats)
{
    stats->totals = ledger_totals(cmd->ledger, &cmd->error);
    if (stats->totals != NULL)
        stats->ever = ledger_counters(cmd->ledger, &cmd->error);
    if (stats->ever != NULL)
        stats->hours = ledger_hours(cmd->ledger, HOURS, &cmd->error);
    return stats->hours != NULL;
}

/* Returns the exit status. After a failure, stats has what needs no ledger. */
static int begin_stats(struct cmd *cmd, struct stats *stats)
{
    static const char *const engines[] = {
        [CONFIG_ENGINE_POSTGRES] = "postgres",
        [CONFIG_ENGINE_SQLITE] = "sqlite",
        [CONFIG_ENGINE_MARIADB] = "mariadb",
    };
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
