/* SPDX-License-Identifier: ISC
 *
 * abandon: marks unfinished messages that Postfix does not retry any more. Also the first half of purge. */
#include "cmd/abandon.h"

#include <glib.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/table.h"
#include "cmd/usage.h"
#include "ledger/ledger_expire.h"
#include "ledger/ledger_show.h"
#include "message/message.h"

enum { ABANDONED_LAST_AT, ABANDONED_QUEUE_ID, ABANDONED_RECIPIENTS, ABANDONED_MESSAGE_ID, ABANDONED_REASON };

struct options {
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

struct ledger_table *abandon_run(struct ledger *ledger, struct ledger_expire expire, struct fault *fault)
{
    struct ledger_table *all = NULL;
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

static struct ledger_table *run(struct ledger *ledger, const struct options *options, struct ledger_expire expire,
                                struct fault *fault)
{
    return options->dry_run ? ledger_expire_preview(ledger, &expire, fault) : abandon_run(ledger, expire, fault);
}

static void report(const struct options *options, const struct ledger_table *table)
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

static int abandon_old(const struct config *config, struct ledger *ledger, const struct options *options)
{
    struct fault fault;
    const struct ledger_expire expire = {.older_than_ms = config->record.abandon_after, .upto = INT64_MAX};
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = run(ledger, options, expire, &fault);
    if (table == NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    report(options, table);
    return 0;
}

/* The messages with this Message-ID or queue id. */
static struct ledger_table *find(const struct config *config, struct ledger *ledger, const char *text,
                                 struct fault *fault)
{
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    size_t length = strlen(text);
    bool brackets = length >= 2 && text[0] == '<' && text[length - 1] == '>';
    char *id OD_CLEANUP(base_free) = brackets ? base_strndup(text + 1, length - 2) : base_strdup(text);
    message_identity(config->lock.namespace, id, strlen(id), identity);
    return ledger_find_messages(ledger, identity, NULL, g_utf8_validate(id, -1, NULL) ? id : NULL, fault);
}

/* Abandons one message, whatever its age, and adds it to *all. Returns the exit status; EX_UNAVAILABLE with the fault
 * set. */
static int abandon_message(struct ledger *ledger, const struct options *options, const char *id, int64_t number,
                           struct ledger_table **all, struct fault *fault)
{
    const struct ledger_expire expire = {.after = number - 1, .upto = number};
    struct ledger_table *table = run(ledger, options, expire, fault);
    if (table == NULL)
        return EX_UNAVAILABLE;
    size_t rows = table->rows;
    ledger_table_join(all, &table);
    if (rows > 0)
        return 0;
    bool unfinished;
    if (!ledger_expire_is_open(ledger, number, &unfinished, fault))
        return EX_UNAVAILABLE;
    if (!unfinished)
        return 0;
    return cmd_fail(EX_TEMPFAIL, "%s: skipped: it is being delivered, or was less than delivery.hold_off ago", id);
}

static int abandon_id(const struct config *config, struct ledger *ledger, const struct options *options, const char *id,
                      struct ledger_table **all, struct fault *fault)
{
    struct ledger_table *found OD_CLEANUP(ledger_table_free) = find(config, ledger, id, fault);
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

static int abandon_ids(const struct config *config, struct ledger *ledger, const struct options *options, char **ids)
{
    struct fault fault;
    struct ledger_table *all OD_CLEANUP(ledger_table_free) = NULL;
    int worst = 0;
    for (; *ids != NULL && worst != EX_UNAVAILABLE; ids++) {
        int status = abandon_id(config, ledger, options, *ids, &all, &fault);
        worst = status != 0 ? status : worst;
    }
    if (all == NULL)
        all = base_alloc(sizeof(*all)); /* for the case that all of the ids are unknown */
    report(options, all);
    return worst == EX_UNAVAILABLE ? cmd_fail(worst, "%s", fault.text) : worst;
}

int cmd_abandon(const struct cmd_options *options, int argc, char **argv)
{
    static const struct option words[] = {{"dry-run", no_argument, NULL, 'n'}, {"json", no_argument, NULL, 'J'}, {0}};
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct options own = {.json = false};
    for (int c; (c = usage_option(argc, argv, "", words)) != -1;) {
        if (c == USAGE_WRONG)
            return CMD_USAGE;
        own.dry_run = own.dry_run || c == 'n';
        own.json = own.json || c == 'J';
    }
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    return optind < argc ? abandon_ids(config, ledger, &own, argv + optind) : abandon_old(config, ledger, &own);
}
