/* SPDX-License-Identifier: ISC
 *
 * list: copies by state, time, names and ids. locks: messages in delivery, lock holders, waiting sessions. */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"

static void print_remarks(const struct options *options, size_t rows, size_t unknown)
{
    if (unknown > 0)
        fprintf(stderr, "%zu could not be checked; oncedrop show --verify says why.\n", unknown);
    if ((int64_t)rows == options->limit)
        fprintf(stderr,
                options->missing ? "The newest %zu were looked for; --limit looks for more.\n"
                                 : "These are the newest %zu; --limit shows more.\n",
                rows);
}

static int print_list(struct cmd *cmd, const struct ledger_filter *filter)
{
    const struct options *options = &cmd->options;
    size_t unknown = 0;
    struct sql_rows *table OD_CLEANUP(sql_rows_free) = ledger_list(cmd->ledger, filter, &cmd->error);
    size_t rows = table != NULL ? table->count : 0;
    if (table == NULL || (options->missing && !verify_list(cmd, table, &unknown)))
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (options->json)
        table_print_json(table_json(table));
    else if (table->count == 0)
        puts(options->missing ? "no missing copies" : "no matching copies");
    else
        table_print(table, NULL);
    if (!options->json || options->missing)
        print_remarks(options, rows, unknown);
    return 0;
}

int cmd_list(struct cmd *cmd)
{
    const struct options *options = &cmd->options;
    char delay[24];
    char *recipient OD_CLEANUP(base_free) = options->recipient != NULL ? g_utf8_strdown(options->recipient, -1) : NULL;
    char *message_id OD_CLEANUP(base_free) = options->message_id != NULL ? base_strip_brackets(options->message_id)
                                                                         : NULL;
    const struct ledger_filter filter = {
        .state = options->missing ? "stored" : options->state,
        .since = options->since[0] != '\0' ? options->since : NULL,
        .until = options->until[0] != '\0' ? options->until : NULL,
        .recipient = recipient,
        .sender = g_strcmp0(options->sender, "<>") == 0 ? "" : options->sender,
        .mailbox = options->mailbox != NULL && g_ascii_strcasecmp(options->mailbox, "INBOX") == 0 ? "INBOX"
                                                                                                  : options->mailbox,
        .subject = options->subject,
        .message_id = message_id,
        .queue_id = options->queue_id,
        .delay = options->min_delay_ms >= 0 ? delay : NULL,
        .limit = options->limit,
    };
    snprintf(delay, sizeof(delay), "%" PRId64, options->min_delay_ms);
    if (options->missing && options->state != NULL && strcmp(options->state, "stored") != 0)
        return cmd_wrong(cmd, "--missing is of stored copies");
    int status = cmd_open_ledger(cmd);
    return status == 0 ? print_list(cmd, &filter) : status;
}

static void print_locks(const struct ledger *ledger, const struct sql_rows *table)
{
    bool hidden = false;
    for (size_t row = 0; row < table->count; row++) {
        fputs(row > 0 ? "\n" : "", stdout);
        table_print_row(table, row);
        hidden = hidden || sql_bool(table, row, LOCKS_LEASE_HIDDEN);
    }
    if (!hidden)
        return;
    char *hint OD_CLEANUP(base_free) = ledger_locks_hint(ledger);
    fflush(stdout);
    fprintf(stderr, "%s\n", hint);
}

int cmd_locks(struct cmd *cmd)
{
    struct sql_rows *table OD_CLEANUP(sql_rows_free) = ledger_locks(cmd->ledger, &cmd->error);
    if (table == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (cmd->options.json)
        table_print_json(table_json(table));
    else if (table->count == 0)
        puts("no delivery is in progress");
    else
        print_locks(cmd->ledger, table);
    return 0;
}
