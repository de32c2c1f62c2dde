/* SPDX-License-Identifier: ISC
 *
 * feed: what waits for an application. */
#include "cmd/cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "decode/decode.h"
#include "replay/replay.h"

#define ROWS_MAX 1000000

static int print_rows(struct cmd *cmd, struct sql_rows *rows, const char *none)
{
    struct sql_rows *table OD_CLEANUP(sql_rows_free) = rows;
    if (table == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (cmd->options.json)
        table_print_json(table_json(table));
    else if (table->count == 0)
        puts(none);
    else
        table_print(table, NULL);
    return 0;
}

/* A feed that is not in the configuration any more keeps its rows. */
static int list_rows(struct cmd *cmd, const char *feed)
{
    struct sql_rows *rows = feed != NULL ? ledger_feed_rows(cmd->ledger, feed, ROWS_MAX, &cmd->error) : NULL;
    if (rows != NULL && rows->count == 0 && config_feed(cmd->config, feed) == NULL) {
        sql_rows_free(&rows);
        return cmd_no_feed(cmd, feed);
    }
    if (feed != NULL)
        return print_rows(cmd, rows, "nothing waits in this feed");
    return print_rows(cmd, ledger_feed_list(cmd->ledger, &cmd->error), "nothing waits in any feed");
}

static int print_bytes(int from)
{
    char piece[65536];
    ssize_t size;
    while ((size = read(from, piece, sizeof(piece))) > 0)
        if (!base_write(STDOUT_FILENO, piece, (size_t)size))
            return cmd_fail(EX_IOERR, "feed show: cannot write the message: %m");
    return size == 0 ? 0 : cmd_fail(EX_IOERR, "feed show: cannot read the message: %m");
}

/* Record and message. Returns false if that cannot be read. */
static bool print_row_json(struct cmd *cmd, const struct sql_rows *rows, const struct message *message)
{
    json_t *object = table_row_json(rows, 0);
    bool shown = message != NULL && feed_message_json(cmd, message, object);
    if (!shown)
        json_object_set_new(object, "unreadable", replay_json_text(cmd->error.text));
    table_print_json(object);
    return shown;
}

static int show_from_message(struct cmd *cmd, const struct sql_rows *rows)
{
    struct message *message OD_CLEANUP(message_free) = NULL;
    bool gone = false;
    int from OD_CLEANUP(base_close) = verify_begin(cmd) ? feed_message_open(cmd, rows, &gone) : -1;
    if (from >= 0 && cmd->options.bytes)
        return print_bytes(from);
    bool read = from >= 0 && message_read(from, 0, NULL, &message, &cmd->error) == MESSAGE_OK;
    if (cmd->options.json ? print_row_json(cmd, rows, message)
                          : read && decoding_extract(message, cmd->options.part, STDOUT_FILENO, &cmd->error))
        return 0;
    return cmd_error(gone || (read && !cmd->options.json) ? 1 : EX_UNAVAILABLE, cmd);
}

static int show_row(struct cmd *cmd, int64_t id)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_feed_read(cmd->ledger, id, &cmd->error);
    if (rows == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (rows->count == 0)
        return cmd_fail(1, "feed show: no row %" PRId64 " waits in any feed", id);
    if (cmd->options.bytes || cmd->options.json || cmd->options.part != NULL)
        return show_from_message(cmd, rows);
    table_print_row(rows, 0);
    return 0;
}

/* Shows the first row with --subject, once there is one. */
static int wait_row(struct cmd *cmd, const char *feed)
{
    const char *subject = cmd->options.subject;
    if (config_feed(cmd->config, feed) == NULL)
        return cmd_no_feed(cmd, feed);
    for (;; ledger_feed_wait(cmd->ledger, -1)) {
        struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_feed_rows(cmd->ledger, feed, ROWS_MAX, &cmd->error);
        if (rows == NULL)
            return cmd_error(EX_UNAVAILABLE, cmd);
        for (size_t i = 0; i < rows->count; i++)
            if (subject == NULL || strstr(sql_text(rows, i, LIST_ROWS_SUBJECT), subject) != NULL)
                return show_row(cmd, sql_number(rows, i, LIST_ROWS_ID));
    }
}

/* what: "would be added", ... */
static int print_count(struct cmd *cmd, bool done, int64_t count, const char *what)
{
    if (!done)
        return cmd_error(EX_UNAVAILABLE, cmd);
    printf("%" PRId64 " message%s %s\n", count, count == 1 ? "" : "s", what);
    return 0;
}

/* again: reset */
static int fill_feed(struct cmd *cmd, const char *feed, bool again)
{
    const struct config *config = config_feed(cmd->config, feed);
    int64_t count = 0;
    if (config == NULL)
        return cmd_no_feed(cmd, feed);
    if (cmd->options.since[0] == '\0')
        return cmd_wrong(cmd, "--since TIME is missing (7d, 2026-11-01)");
    bool done =
        ledger_feed_fill(cmd->ledger, config, cmd->options.since, again, cmd->options.dry_run, &count, &cmd->error);
    return print_count(cmd, done, count, cmd->options.dry_run ? "would be added" : "added");
}

/* id: 0 for all. missing: "is dead", ... what: as in print_count. */
static int print_changed(struct cmd *cmd, bool done, const char *feed, int64_t id, const char *missing, int64_t count,
                         const char *what)
{
    if (done && count == 0 && config_feed(cmd->config, feed) == NULL)
        return cmd_no_feed(cmd, feed);
    if (done && count == 0 && id != 0)
        return cmd_fail(1, "feed %s: no row %" PRId64 " %s", feed, id, missing);
    return print_count(cmd, done, count, what);
}

static int drop_rows(struct cmd *cmd, const char *feed, int64_t id)
{
    int64_t count = 0;
    bool done = ledger_feed_drop(cmd->ledger, feed, id, &count, &cmd->error);
    if (done && count > 0)
        log_info("feed %s: %" PRId64 " message%s dropped, which no application has taken", feed, count,
                 count == 1 ? "" : "s");
    return print_changed(cmd, done, feed, id, "waits in it", count, "dropped");
}

static int retry_rows(struct cmd *cmd, const char *feed, int64_t id)
{
    int64_t count = 0;
    bool done = ledger_feed_retry(cmd->ledger, feed, id, &count, &cmd->error);
    return print_changed(cmd, done, feed, id, "is dead", count, "tried again from now on");
}

static bool is_row_number(const char *text, int64_t *ret)
{
    return g_ascii_string_to_signed(text, 10, 1, INT64_MAX, ret, NULL);
}

static int run_word(struct cmd *cmd, const char *word, char **rest, int count)
{
    int64_t id = 0;
    if (strcmp(word, "list") == 0 && count <= 1)
        return list_rows(cmd, rest[0]);
    if (strcmp(word, "show") == 0 && count == 1 && is_row_number(rest[0], &id))
        return show_row(cmd, id);
    if (strcmp(word, "wait") == 0 && count == 1)
        return wait_row(cmd, rest[0]);
    bool again = strcmp(word, "reset") == 0;
    if ((again || strcmp(word, "fill") == 0) && count == 1)
        return fill_feed(cmd, rest[0], again);
    bool takes_id = (count == 1 || count == 2) && (count == 1 || is_row_number(rest[1], &id));
    if (strcmp(word, "drop") == 0 && takes_id)
        return drop_rows(cmd, rest[0], id);
    if (strcmp(word, "retry") == 0 && takes_id)
        return retry_rows(cmd, rest[0], id);
    return cmd_wrong(cmd, "%s: wrong operands; see oncedrop help feed", word);
}

int cmd_feed(struct cmd *cmd)
{
    static const char *const words[] = {"list", "run", "show", "wait", "retry", "fill", "reset", "drop", NULL};
    char **rest = cmd->operands + 1;
    int count = 0;
    if (!g_strv_contains(words, cmd->operands[0]))
        return cmd_wrong(cmd, "%.80s: must be " CMD_FEED_WORDS, cmd->operands[0]);
    while (rest[count] != NULL)
        count++;
    if (strcmp(cmd->operands[0], "run") == 0 && count >= 2)
        return feed_run(cmd, rest[0], rest + 1);
    int status = cmd_open_ledger(cmd);
    return status == 0 ? run_word(cmd, cmd->operands[0], rest, count) : status;
}
