/* SPDX-License-Identifier: ISC
 *
 * abandon: marks unfinished messages that Postfix does not retry any more. purge: does the same, and deletes old records. */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/table.h"
#include "ledger/ledger_purge.h"
#include "ledger/ledger_report.h"
#include "ledger/ledger_total.h"
#include "message/message.h"

enum { ABANDONED_LAST_AT, ABANDONED_QUEUE_ID, ABANDONED_RECIPIENTS, ABANDONED_MESSAGE_ID, ABANDONED_REASON };

struct options {
    const char *older_than;
    bool dry_run, json;
};

/* So that a search of the log for the queue id finds the end of the story. */
static void log_abandoned(const struct ledger_table *table)
{
    char id[512], to[384], queue_id[128], reason[1024];
    for (size_t row = 0; row < table->rows; row++) {
        const char *queue = ledger_cell(table, row, ABANDONED_QUEUE_ID);
        log_info("%s: message-id=<%s>, to=<%s>, status=abandoned (not retried since %s: %s)",
                 queue[0] != '\0' ? log_escape_field(queue, queue_id, sizeof(queue_id)) : "NOQUEUE",
                 log_escape_field(ledger_cell(table, row, ABANDONED_MESSAGE_ID), id, sizeof(id)),
                 log_escape_field(ledger_cell(table, row, ABANDONED_RECIPIENTS), to, sizeof(to)),
                 ledger_cell(table, row, ABANDONED_LAST_AT),
                 log_escape_text(ledger_cell(table, row, ABANDONED_REASON), reason, sizeof(reason)));
    }
}

/* Abandons the messages that `expire` selects, batch by batch, and logs each; if dry_run, only finds them. Returns them as a
 * new table (ledger_purge.h), or NULL with the fault set: what was abandoned before stays so. */
static struct ledger_table *abandon(struct ledger *ledger, const struct options *options, struct ledger_expire expire,
                                    struct fault *fault)
{
    struct ledger_table *all = NULL;
    if (options->dry_run)
        return ledger_expire_preview(ledger, &expire, fault);
    while (!expire.ended) {
        struct ledger_table *batch = ledger_expire_batch(ledger, &expire, fault);
        if (batch == NULL) {
            ledger_table_free(&all);
            return NULL;
        }
        log_abandoned(batch);
        ledger_table_join(&all, &batch);
    }
    return all;
}

static struct ledger_table *abandon_old(const struct config *config, struct ledger *ledger,
                                        const struct options *options, struct fault *fault)
{
    const struct ledger_expire expire = {.older_than_ms = config->record.abandon_after, .upto = INT64_MAX};
    return abandon(ledger, options, expire, fault);
}

static void print_abandoned(const struct options *options, const struct ledger_table *table)
{
    if (options->json) {
        table_print_json(json_pack("{s:I, s:b, s:o}", "messages", (json_int_t)table->rows, "dry_run", options->dry_run,
                                   "abandoned", table_json(table)));
        return;
    }
    table_print_list(table);
    printf("%s%zu message%s %s\n", table->rows > 0 ? "\n" : "", table->rows, table->rows == 1 ? "" : "s",
           options->dry_run ? "would be abandoned" : "abandoned");
}

/* The messages with this Message-ID or queue id. */
static struct ledger_table *find_messages(const struct config *config, struct ledger *ledger, const char *text,
                                          struct fault *fault)
{
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    char *id OD_CLEANUP(base_free) = cmd_strip_brackets(text);
    message_identity(config->lock.namespace, id, strlen(id), identity);
    return ledger_find_messages(ledger, identity, NULL, g_utf8_validate(id, -1, NULL) ? id : NULL, fault);
}

/* Abandons one message, whatever its age, and adds it to *all. Returns the exit status; EX_UNAVAILABLE with the fault
 * set. */
static int abandon_message(struct ledger *ledger, const struct options *options, const char *id, int64_t number,
                           struct ledger_table **all, struct fault *fault)
{
    const struct ledger_expire expire = {.after = number - 1, .upto = number};
    struct ledger_table *table = abandon(ledger, options, expire, fault);
    if (table == NULL)
        return EX_UNAVAILABLE;
    size_t rows = table->rows;
    bool unfinished = false;
    ledger_table_join(all, &table);
    if (rows == 0 && !ledger_expire_is_open(ledger, number, &unfinished, fault))
        return EX_UNAVAILABLE;
    return !unfinished ? 0
                       : cmd_fail(EX_TEMPFAIL,
                                  "%s: skipped: it is being delivered, or was less than delivery.hold_off ago", id);
}

static int abandon_id(const struct config *config, struct ledger *ledger, const struct options *options, const char *id,
                      struct ledger_table **all, struct fault *fault)
{
    struct ledger_table *found OD_CLEANUP(ledger_table_free) = find_messages(config, ledger, id, fault);
    int worst = 0;
    if (found == NULL)
        return EX_UNAVAILABLE;
    if (found->rows == 0)
        return cmd_fail(1, "%s: no such message", id);
    for (size_t row = 0; row < found->rows && worst != EX_UNAVAILABLE; row++) {
        int64_t number = strtoll(ledger_cell(found, row, FOUND_ID), NULL, 10);
        int status = abandon_message(ledger, options, id, number, all, fault);
        worst = status != 0 ? status : worst;
    }
    return worst;
}

/* The messages with these ids, or if there are none, the old ones. */
static int abandon_all(const struct config *config, struct ledger *ledger, const struct options *options, char **ids)
{
    struct fault fault;
    struct ledger_table *all OD_CLEANUP(ledger_table_free) = NULL;
    int worst = 0;
    if (*ids == NULL && (all = abandon_old(config, ledger, options, &fault)) == NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    for (; *ids != NULL && worst != EX_UNAVAILABLE; ids++) {
        int status = abandon_id(config, ledger, options, *ids, &all, &fault);
        worst = status != 0 ? status : worst;
    }
    if (all == NULL)
        all = base_alloc(sizeof(*all)); /* for the case that all of the ids are unknown */
    print_abandoned(options, all);
    return worst == EX_UNAVAILABLE ? cmd_fail(worst, "%s", fault.text) : worst;
}

int cmd_abandon(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct options own = {.json = false};
    const struct cmd_option words[] = {{"dry-run", .flag = &own.dry_run}, {"json", .flag = &own.json}, {.name = NULL}};
    if (!cmd_parse(argc, argv, words, 0, argc, NULL))
        return CMD_USAGE;
    int status = cmd_open(options, &config, &ledger);
    return status != 0 ? status : abandon_all(config, ledger, &own, argv + optind);
}

static void print_purged(const struct options *options, int64_t removed, int64_t abandoned)
{
    if (options->json) {
        table_print_json(json_pack("{s:I, s:I, s:b}", "messages", (json_int_t)removed, "abandoned",
                                   (json_int_t)abandoned, "dry_run", options->dry_run));
        return;
    }
    const char *would = options->dry_run ? "would be " : "";
    if (abandoned > 0)
        printf("%" PRId64 " unfinished message%s %sabandoned\n", abandoned, abandoned == 1 ? "" : "s", would);
    printf("%" PRId64 " message%s %sremoved from the record\n", removed, removed == 1 ? "" : "s", would);
}

/* Batch by batch; if one fails, what was removed before stays removed. */
static bool remove_old(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault)
{
    struct ledger_purge state = {.older_than_ms = older_than_ms};
    if (!ledger_total_up(ledger, fault))
        return false;
    while (!state.ended && ledger_purge_batch(ledger, &state, fault))
        ;
    *ret = state.deleted;
    return state.ended;
}

/* First abandons, for otherwise messages covered by record.abandon_after would never become old enough. */
static int purge(const struct config *config, struct ledger *ledger, const struct options *options,
                 int64_t older_than_ms)
{
    struct fault fault;
    int64_t removed = 0;
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = abandon_old(config, ledger, options, &fault);
    bool done = table != NULL;
    if (done)
        done = options->dry_run ? ledger_purge_count(ledger, older_than_ms, &removed, &fault)
                                : remove_old(ledger, older_than_ms, &removed, &fault);
    int64_t abandoned = table != NULL ? (int64_t)table->rows : 0;
    if (!options->dry_run && removed > 0)
        log_info("purge: %" PRId64 " message%s older than %s removed from the record", removed, removed == 1 ? "" : "s",
                 options->older_than);
    if (done || removed > 0 || abandoned > 0)
        print_purged(options, removed, abandoned);
    return done ? 0 : cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
}

static bool parse_purge(int argc, char **argv, struct options *options, int64_t *ret_ms)
{
    const struct cmd_option words[] = {
        {"older-than", .text = &options->older_than},
        {"dry-run", .flag = &options->dry_run},
        {"json", .flag = &options->json},
        {.name = NULL},
    };
    if (!cmd_parse(argc, argv, words, 0, 0, NULL))
        return false;
    if (options->older_than == NULL)
        return cmd_wrong(argv, "--older-than AGE is missing (30d, 90d)");
    return config_parse_duration(options->older_than, ret_ms) ||
           cmd_wrong_value(argv, "--older-than", options->older_than, "an age of at least 7d (30d, 90d)");
}

int cmd_purge(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct options own = {.json = false};
    int64_t older_than_ms;
    if (!parse_purge(argc, argv, &own, &older_than_ms))
        return CMD_USAGE;
    if (older_than_ms < LEDGER_PURGE_YOUNGEST_MS)
        return cmd_fail(EX_USAGE,
                        "purge: --older-than %s: nothing younger than 7 days (7d) is removed, because Postfix may still"
                        " retry it; a number without a unit is seconds",
                        own.older_than);
    int status = cmd_open(options, &config, &ledger);
    return status != 0 ? status : purge(config, ledger, &own, older_than_ms);
}
