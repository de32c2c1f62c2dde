/* SPDX-License-Identifier: ISC
 *
 * purge: deletes old records, or only counts them. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/abandon.h"
#include "cmd/cmd.h"
#include "cmd/table.h"
#include "cmd/usage.h"
#include "ledger/ledger_purge.h"
#include "ledger/ledger_total.h"

struct options {
    const char *older_than;
    int64_t older_than_ms;
    bool dry_run, json;
};

static bool parse_arguments(int argc, char **argv, struct options *options)
{
    static const struct option words[] = {
        {"older-than", required_argument, NULL, 'o'},
        {"dry-run", no_argument, NULL, 'n'},
        {"json", no_argument, NULL, 'J'},
        {0},
    };
    for (int c; (c = usage_option(argc, argv, "", words)) != -1;) {
        if (c == USAGE_WRONG)
            return false;
        if (c == 'o' && !config_parse_duration(optarg, &options->older_than_ms))
            return usage_value(argv, "--older-than", optarg, "an age of at least 7d (30d, 90d)");
        options->older_than = c == 'o' ? optarg : options->older_than;
        options->dry_run = options->dry_run || c == 'n';
        options->json = options->json || c == 'J';
    }
    if (options->older_than_ms < 0)
        return usage_wrong(argv, "--older-than AGE is missing (30d, 90d)");
    return usage_operands(argc, argv, 0, 0, "nothing");
}

struct result {
    int64_t removed, abandoned;
};

static void report(const struct options *options, const struct result *result)
{
    if (options->json) {
        table_print_json(json_pack("{s:I, s:I, s:b}", "messages", (json_int_t)result->removed, "abandoned",
                                   (json_int_t)result->abandoned, "dry_run", options->dry_run));
        return;
    }
    const char *would = options->dry_run ? "would be " : "";
    if (result->abandoned > 0)
        printf("%" PRId64 " unfinished message%s %sabandoned\n", result->abandoned, result->abandoned == 1 ? "" : "s",
               would);
    printf("%" PRId64 " message%s %sremoved from the record\n", result->removed, result->removed == 1 ? "" : "s",
           would);
}

/* Otherwise messages covered by record.abandon_after would never become old enough. */
static bool abandon(const struct config *config, struct ledger *ledger, const struct options *options, int64_t *ret,
                    struct fault *fault)
{
    const struct ledger_expire expire = {.older_than_ms = config->record.abandon_after, .upto = INT64_MAX};
    struct ledger_table *table OD_CLEANUP(ledger_table_free) =
        options->dry_run ? ledger_expire_preview(ledger, &expire, fault) : abandon_run(ledger, expire, fault);
    if (table != NULL)
        *ret = (int64_t)table->rows;
    return table != NULL;
}

/* Batch by batch; if one fails, what was removed before stays removed. */
static bool remove_old(struct ledger *ledger, const struct options *options, int64_t *ret, struct fault *fault)
{
    struct ledger_purge state = {.older_than_ms = options->older_than_ms};
    if (!ledger_total_up(ledger, fault))
        return false;
    while (!state.ended && ledger_purge_batch(ledger, &state, fault))
        ;
    *ret = state.deleted;
    return state.ended;
}

static int purge(const struct config *config, struct ledger *ledger, const struct options *options)
{
    struct result result = {.removed = 0};
    struct fault fault;
    bool done = abandon(config, ledger, options, &result.abandoned, &fault);
    if (done)
        done = options->dry_run ? ledger_purge_count(ledger, options->older_than_ms, &result.removed, &fault)
                                : remove_old(ledger, options, &result.removed, &fault);
    if (!options->dry_run && result.removed > 0)
        log_info("purge: %" PRId64 " message%s older than %s removed from the record", result.removed,
                 result.removed == 1 ? "" : "s", options->older_than);
    if (done || result.removed > 0 || result.abandoned > 0)
        report(options, &result);
    return done ? 0 : cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
}

int cmd_purge(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct options own = {.older_than_ms = -1};
    if (!parse_arguments(argc, argv, &own))
        return CMD_USAGE;
    if (own.older_than_ms < LEDGER_PURGE_YOUNGEST_MS)
        return cmd_fail(EX_USAGE,
                        "purge: --older-than %s: nothing younger than 7 days (7d) is removed, because Postfix may still"
                        " retry it; a number without a unit is seconds",
                        own.older_than);
    int status = cmd_open(options, &config, &ledger);
    return status != 0 ? status : purge(config, ledger, &own);
}
