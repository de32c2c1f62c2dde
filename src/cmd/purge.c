/* SPDX-License-Identifier: ISC
 *
 * expire: expires unfinished messages that Postfix does not retry. purge: also deletes old records. forget: deletes an
 * address's messages. */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "message/message.h"

#define DAY_MS INT64_C(86400000)

enum { EXPIRED_LAST_AT, EXPIRED_QUEUE_ID, EXPIRED_RECIPIENTS, EXPIRED_MESSAGE_ID, EXPIRED_REASON };

/* For searches of the log by queue id. */
static void log_expired(const struct sql_rows *table)
{
    for (size_t row = 0; row < table->count; row++) {
        const char *queue_id = sql_text(table, row, EXPIRED_QUEUE_ID);
        char *reason OD_CLEANUP(base_free) = base_printf("not retried since %s: %s",
                                                         sql_text(table, row, EXPIRED_LAST_AT),
                                                         sql_text(table, row, EXPIRED_REASON));
        const struct log_line line = {
            queue_id[0] != '\0' ? queue_id : "NOQUEUE",
            {
                {LOG_FIELD_MESSAGE_ID, sql_text(table, row, EXPIRED_MESSAGE_ID)},
                {LOG_FIELD_TO, sql_text(table, row, EXPIRED_RECIPIENTS)},
                {LOG_FIELD_STATUS, "expired"},
            },
        };
        log_fields(&line, reason);
    }
}

/* Expires what `expire` selects; a dry run only finds it. Returns a new table (ledger_purge.c), or NULL with the error
 * set: earlier batches stay expired. */
static struct sql_rows *expire_selected(struct cmd *cmd, struct ledger_expire expire)
{
    struct sql_rows *all = NULL;
    if (cmd->options.dry_run)
        return ledger_expire_preview(cmd->ledger, &expire, &cmd->error);
    while (!expire.ended) {
        struct sql_rows *batch = ledger_expire_batch(cmd->ledger, &expire, &cmd->error);
        if (batch == NULL) {
            sql_rows_free(&all);
            return NULL;
        }
        log_expired(batch);
        sql_rows_join(&all, &batch);
    }
    return all;
}

static struct sql_rows *expire_old(struct cmd *cmd)
{
    const struct ledger_expire expire = {.older_than_ms = cmd->config->record.expire_after, .upto = INT64_MAX};
    return expire_selected(cmd, expire);
}

static void print_expired(const struct options *options, const struct sql_rows *table)
{
    if (options->json) {
        table_print_json(json_pack("{s:I, s:b, s:o}", "messages", (json_int_t)table->count, "dry_run", options->dry_run,
                                   "expired", table_json(table)));
        return;
    }
    table_print(table, NULL);
    printf("%s%zu message%s %s\n", table->count > 0 ? "\n" : "", table->count, table->count == 1 ? "" : "s",
           options->dry_run ? "would be expired" : "expired");
}

static struct sql_rows *find_named(struct cmd *cmd, const char *text)
{
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    char *id OD_CLEANUP(base_free) = base_strip_brackets(text);
    message_identity(cmd->config->lock.namespace, id, strlen(id), identity);
    return ledger_find_messages(cmd->ledger, identity, NULL, g_utf8_validate(id, -1, NULL) ? id : NULL, &cmd->error);
}

/* Expires a message of any age, and adds it to *all. Sets the error with EX_UNAVAILABLE. */
static int expire_message(struct cmd *cmd, const char *id, int64_t number, struct sql_rows **all)
{
    const struct ledger_expire expire = {.after = number - 1, .upto = number};
    struct sql_rows *table = expire_selected(cmd, expire);
    bool unfinished = false;
    if (table == NULL)
        return EX_UNAVAILABLE;
    size_t rows = table->count;
    sql_rows_join(all, &table);
    if (rows == 0 && !ledger_expire_is_open(cmd->ledger, number, &unfinished, &cmd->error))
        return EX_UNAVAILABLE;
    if (!unfinished)
        return 0;
    return cmd_fail(EX_TEMPFAIL, "%s: skipped: it is being delivered, or was less than delivery.hold_off ago", id);
}

static int expire_id(struct cmd *cmd, const char *id, struct sql_rows **all)
{
    struct sql_rows *found OD_CLEANUP(sql_rows_free) = find_named(cmd, id);
    int worst = 0;
    if (found == NULL)
        return EX_UNAVAILABLE;
    if (found->count == 0)
        return cmd_no_message(cmd, id);
    for (size_t row = 0; row < found->count && worst != EX_UNAVAILABLE; row++) {
        int64_t number = strtoll(sql_text(found, row, FIND_MESSAGES_ID), NULL, 10);
        int status = expire_message(cmd, id, number, all);
        worst = status != 0 ? status : worst;
    }
    return worst;
}

/* Without ids, expires old messages. */
int cmd_expire(struct cmd *cmd)
{
    struct sql_rows *all OD_CLEANUP(sql_rows_free) = NULL;
    int worst = 0;
    if (cmd->operands[0] == NULL && (all = expire_old(cmd)) == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    for (char **id = cmd->operands; *id != NULL && worst != EX_UNAVAILABLE; id++) {
        int status = expire_id(cmd, *id, &all);
        worst = status != 0 ? status : worst;
    }
    if (all == NULL)
        all = base_alloc(sizeof(*all)); /* if all ids are unknown */
    print_expired(&cmd->options, all);
    return worst == EX_UNAVAILABLE ? cmd_error(worst, cmd) : worst;
}

static void print_purged(const struct options *options, int64_t removed, int64_t expired)
{
    if (options->json) {
        table_print_json(json_pack("{s:I, s:I, s:b}", "messages", (json_int_t)removed, "expired", (json_int_t)expired,
                                   "dry_run", options->dry_run));
        return;
    }
    const char *would = options->dry_run ? "would be " : "";
    if (expired > 0)
        printf("%" PRId64 " unfinished message%s %sexpired\n", expired, expired == 1 ? "" : "s", would);
    printf("%" PRId64 " message%s %sremoved from the record\n", removed, removed == 1 ? "" : "s", would);
}

/* After a failure, earlier batches stay removed. */
static bool remove_old(struct cmd *cmd, int64_t older_than_ms, int64_t *ret)
{
    struct ledger_purge state = {.older_than_ms = older_than_ms};
    if (!ledger_counter_update(cmd->ledger, &cmd->error))
        return false;
    while (!state.ended && ledger_purge_batch(cmd->ledger, &state, &cmd->error))
        ;
    *ret = state.deleted;
    return state.ended;
}

/* Expires first: an unfinished message is never removed, however old. */
static int purge(struct cmd *cmd)
{
    const struct options *options = &cmd->options;
    int64_t removed = 0;
    struct sql_rows *table OD_CLEANUP(sql_rows_free) = expire_old(cmd);
    bool done = table != NULL;
    if (done)
        done = options->dry_run ? ledger_purge_count(cmd->ledger, options->older_than_ms, &removed, &cmd->error)
                                : remove_old(cmd, options->older_than_ms, &removed);
    int64_t expired = table != NULL ? (int64_t)table->count : 0;
    if (!options->dry_run && removed > 0)
        log_info("purge: %" PRId64 " message%s older than %.4gd removed from the record", removed,
                 removed == 1 ? "" : "s", (double)options->older_than_ms / DAY_MS);
    if (done || removed > 0 || expired > 0)
        print_purged(options, removed, expired);
    return done ? 0 : cmd_error(EX_UNAVAILABLE, cmd);
}

int cmd_purge(struct cmd *cmd)
{
    if (cmd->options.older_than_ms == 0)
        return cmd_wrong(cmd, "--older-than AGE is missing (30d, 90d)");
    int status = cmd_open_ledger(cmd);
    return status == 0 ? purge(cmd) : status;
}

/* rest: why they stay, and what to do. */
static void print_left(int64_t count, const char *rest, const char *when)
{
    if (count > 0)
        printf("%" PRId64 " message%s %s %s%s\n", count, count == 1 ? "" : "s", count == 1 ? "is" : "are", rest, when);
}

/* The log does not name the address. */
static void print_forgotten(const struct ledger_forget *forget)
{
    if (!forget->dry_run && forget->removed > 0)
        log_info("forget: %" PRId64 " message%s removed from the record", forget->removed,
                 forget->removed == 1 ? "" : "s");
    printf("%" PRId64 " message%s %sremoved from the record\n", forget->removed, forget->removed == 1 ? "" : "s",
           forget->dry_run ? "would be " : "");
    print_left(forget->too_recent, "too young, because Postfix may still retry: run it again after ", forget->old_at);
    print_left(forget->unfinished,
               "unfinished, or in a feed: run it again 7 days after the delivery, once expired, or once taken", "");
    print_left(forget->busy, "being delivered: run it again", "");
}

/* Updates the counters first, as purge does. */
static bool forget_all(struct cmd *cmd, struct ledger_forget *forget)
{
    if (!forget->dry_run && !ledger_counter_update(cmd->ledger, &cmd->error))
        return false;
    while (!forget->ended && ledger_forget_batch(cmd->ledger, forget, &cmd->error))
        ;
    return forget->ended;
}

static int forget_messages(struct cmd *cmd, struct ledger_forget *forget)
{
    bool done = forget_all(cmd, forget);
    int64_t left = forget->too_recent + forget->unfinished + forget->busy;
    if (done && forget->removed + left == 0)
        return cmd_fail(1, CMD_NOTHING, forget->address);
    if (done || forget->removed > 0)
        print_forgotten(forget);
    if (!done)
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (forget->dry_run && forget->removed > 0)
        puts("Nothing was changed; with --yes they are removed.");
    return !forget->dry_run && left > 0 ? EX_TEMPFAIL : 0;
}

int cmd_forget(struct cmd *cmd)
{
    char *address OD_CLEANUP(base_free) = NULL;
    int status = cmd_parse_address(cmd, &address);
    if (status == 0)
        status = cmd_open_ledger(cmd);
    struct ledger_forget forget = {.address = address, .dry_run = !cmd->options.yes};
    return status == 0 ? forget_messages(cmd, &forget) : status;
}
