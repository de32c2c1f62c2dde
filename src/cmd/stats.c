/* SPDX-License-Identifier: ISC
 *
 * stats: as text, JSON, or for Prometheus. */
#include "cmd/cmd.h"
#include "cmd/table.h"

#include <glib.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/counter.h"

#define HOURS 24

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
        stats_page(&stats);
    if (stats.up)
        add_up(cmd);
    return status;
}
