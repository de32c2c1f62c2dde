/* SPDX-License-Identifier: ISC
 *
 * purge: old records go, or are only counted. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
#include "cmd/usage.h"
#include "ledger/ledger_purge.h"

struct options {
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
        options->dry_run = options->dry_run || c == 'n';
        options->json = options->json || c == 'J';
    }
    if (options->older_than_ms < 0)
        return usage_wrong(argv, "--older-than AGE is missing (30d, 90d)");
    return usage_operands(argc, argv, 0, 0, "nothing");
}

static void report(const struct options *options, int64_t messages)
{
    if (options->json)
        table_print_json(json_pack("{s:I, s:b}", "messages", (json_int_t)messages, "dry_run", options->dry_run));
    else
        printf("%" PRId64 " message%s %s\n", messages, messages == 1 ? "" : "s",
               options->dry_run ? "would be removed from the record" : "removed from the record");
}

/* Batch after batch; what was removed stays so when a later one fails. */
static int purge(struct ledger *ledger, const struct options *options)
{
    struct ledger_purge state = {.older_than_ms = options->older_than_ms};
    struct fault fault;
    if (options->dry_run) {
        if (!ledger_purge_count(ledger, options->older_than_ms, &state.deleted, &fault))
            return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
        report(options, state.deleted);
        return 0;
    }
    while (!state.ended && ledger_purge_batch(ledger, &state, &fault))
        ;
    report(options, state.deleted);
    return state.ended ? 0 : cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
}

int cmd_purge(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct options own = {.older_than_ms = -1};
    if (!parse_arguments(argc, argv, &own))
        return cmd_usage("purge");
    if (own.older_than_ms < LEDGER_PURGE_YOUNGEST_MS)
        return cmd_fail(EX_USAGE, "purge: --older-than: nothing younger than 7 days goes: Postfix may still retry it");
    int status = cmd_open(options, &config, &ledger);
    return status != 0 ? status : purge(ledger, &own);
}
