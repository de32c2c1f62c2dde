/* SPDX-License-Identifier: ISC
 *
 * locks: messages in delivery, lock holders, waiting sessions. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/terminal.h"
#include "cmd/cmd.h"
#include "cmd/table.h"

#define CELL 1024
#define INDENT 13 /* of continuation lines */

static const char *cell(const struct sql_rows *table, size_t row, size_t column, char text[CELL])
{
    return log_escape(sql_text(table, row, column), text, CELL);
}

static const char *age(const char *seconds, char text[FORMAT_TIME_SIZE])
{
    return format_duration(1000 * g_ascii_strtod(seconds, NULL), text);
}

static void print_message(const struct sql_rows *table, size_t row)
{
    char id[CELL];
    bool known = sql_text(table, row, LOCKS_MESSAGE_ID)[0] != '\0';
    fputs(row > 0 ? "\n" : "", stdout);
    if (known)
        terminal_print(stdout, 0, "<%s>", cell(table, row, LOCKS_MESSAGE_ID, id));
    else
        terminal_print(stdout, 0, "a message that is not recorded, or has no Message-ID");
    terminal_print(stdout, INDENT, "    key      %s", sql_text(table, row, LOCKS_KEY));
}

static void print_claim(const struct sql_rows *table, size_t row)
{
    char account[CELL], mailbox[CELL], host[CELL], ago[FORMAT_TIME_SIZE];
    if (sql_text(table, row, LOCKS_STATE)[0] != '\0')
        terminal_print(stdout, INDENT, "    claim    %s ago by %s[%s] for %s %s",
                       age(sql_text(table, row, LOCKS_AGE), ago), cell(table, row, LOCKS_HOST, host),
                       sql_text(table, row, LOCKS_PID), cell(table, row, LOCKS_ACCOUNT, account),
                       cell(table, row, LOCKS_MAILBOX, mailbox));
}

static void print_holder(const struct sql_rows *table, size_t row)
{
    char session[CELL], user[CELL], since[FORMAT_TIME_SIZE];
    const char *held = sql_text(table, row, LOCKS_HELD), *client = sql_text(table, row, LOCKS_CLIENT);
    const char *name = cell(table, row, LOCKS_SESSION, session);
    if (sql_text(table, row, LOCKS_USER)[0] == '\0') { /* the ledger is a file */
        terminal_print(stdout, INDENT, "    held     by %s", name);
        return;
    }
    bool ours = sql_text(table, row, LOCKS_OURS)[0] == 't';
    const char *process = sql_text(table, row, LOCKS_BACKEND);
    bool lease = process[0] == '\0';
    terminal_print(stdout, INDENT, "    held     %s%s%sby %s%s (database user %s%s%s%s%s)",
                   held[0] != '\0' ? "for " : "", held[0] != '\0' ? age(held, since) : "", held[0] != '\0' ? " " : "",
                   name[0] != '\0' ? name : "a session without a name", ours ? "" : ", which is not a delivery",
                   cell(table, row, LOCKS_USER, user), lease ? ", by a lease" : ", process ", process,
                   client[0] != '\0' ? ", from " : "", client);
}

static void print_lock(const struct sql_rows *table, size_t row)
{
    const char *lock = sql_text(table, row, LOCKS_LOCK);
    if (strcmp(lock, "held") == 0)
        print_holder(table, row);
    else if (strcmp(lock, "claimed") == 0)
        terminal_print(stdout, INDENT, "    not held yet: its delivery is about to take the lock");
    else
        terminal_print(stdout, INDENT,
                       "    free     its delivery died, or lost the database; the next one continues after"
                       " delivery.hold_off");
}

static void print_waiting(const struct sql_rows *table, size_t row)
{
    char session[CELL], user[CELL], since[FORMAT_TIME_SIZE];
    json_t *list = json_loads(sql_text(table, row, LOCKS_WAITING), 0, NULL), *one;
    size_t i;
    json_array_foreach(list, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "session"));
        const char *login = json_string_value(json_object_get(one, "user"));
        double seconds = json_number_value(json_object_get(one, "seconds"));
        terminal_print(stdout, INDENT, "    waiting  for %s: %s (database user %s, process %lld)",
                       format_duration(1000 * seconds, since),
                       log_escape(name != NULL && *name != '\0' ? name : "a session without a name", session, CELL),
                       log_escape(login != NULL ? login : "unknown", user, CELL),
                       (long long)json_integer_value(json_object_get(one, "backend")));
    }
    json_decref(list);
}

/* A message's rows are adjacent: prints it before the first, and waiting sessions after the last. */
static void print_locks(const struct ledger *ledger, const struct sql_rows *table)
{
    bool hidden = false;
    for (size_t row = 0; row < table->count; row++) {
        const char *key = sql_text(table, row, LOCKS_KEY);
        if (row == 0 || strcmp(key, sql_text(table, row - 1, LOCKS_KEY)) != 0)
            print_message(table, row);
        print_claim(table, row);
        if (row + 1 < table->count && strcmp(key, sql_text(table, row + 1, LOCKS_KEY)) == 0 &&
            strcmp(sql_text(table, row, LOCKS_BACKEND), sql_text(table, row + 1, LOCKS_BACKEND)) == 0)
            continue;
        print_lock(table, row);
        if (row + 1 == table->count || strcmp(key, sql_text(table, row + 1, LOCKS_KEY)) != 0)
            print_waiting(table, row);
        hidden = hidden || sql_text(table, row, LOCKS_HIDDEN)[0] == 't';
    }
    if (!hidden)
        return;
    char *hint OD_CLEANUP(base_free) = ledger_locks_hint(ledger);
    fflush(stdout);
    terminal_print(stderr, 0, "%s", hint);
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
