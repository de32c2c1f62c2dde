/* SPDX-License-Identifier: ISC
 *
 * schema: installs, upgrades or prints tables, and records how hosts lock. */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "ledger/ledger_check.h"

static int print_sql(struct cmd *cmd)
{
    char *sql OD_CLEANUP(base_free) = ledger_schema_script(cmd->config, &cmd->error);
    if (sql == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    fputs(sql, stdout);
    return 0;
}

/* Only the tables' owner may change them. */
static int schema_fail(const struct cmd *cmd)
{
    const char *schema = cmd->config->database.schema;
    bool no_user = ledger_is_no_user(cmd->config, &cmd->error);
    if (!no_user && !ledger_is_refused(cmd->config, &cmd->error))
        return cmd_fail(EX_UNAVAILABLE, "schema %s: %s", schema, cmd->error.text);
    return cmd_fail(EX_UNAVAILABLE,
                    "schema %s: %s; connect as the schema's owner, as in: oncedrop -o"
                    " 'database.conninfo=host=localhost dbname=oncedrop user=oncedrop_owner' schema %s",
                    schema, no_user ? "the database does not let this user in" : cmd->error.text, cmd->operands[0]);
}

static int check_lock(struct cmd *cmd)
{
    struct ledger_check_lock lock;
    bool excludes = ledger_check_lock(cmd->config, &lock, &cmd->error);
    base_free(&lock.left_out);
    return excludes ? 0 : cmd_fail(EX_UNAVAILABLE, "lock: %s", cmd->error.text);
}

static int upgrade(struct cmd *cmd)
{
    const char *schema = cmd->config->database.schema;
    bool install = strcmp(cmd->operands[0], "install") == 0;
    int from, needed = ledger_schema_needed(cmd->ledger);
    if (!ledger_schema_version(cmd->ledger, &from, &cmd->error))
        return schema_fail(cmd);
    if (!install && from == 0)
        return cmd_fail(1, "schema %s is not installed; run: oncedrop schema install", schema);
    if (from > needed)
        return cmd_fail(1, "schema %s: version %d is newer than this program, which needs %d: nothing was changed",
                        schema, from, needed);
    if (!ledger_schema_upgrade(cmd->ledger, &from, &cmd->error))
        return schema_fail(cmd);
    if (from == 0)
        printf("schema %s: version %d installed\n", schema, needed);
    else if (from < needed)
        printf("schema %s: upgraded from version %d to %d\n", schema, from, needed);
    fflush(stdout);
    return install ? check_lock(cmd) : 0;
}

static int set_method(struct cmd *cmd)
{
    char *previous OD_CLEANUP(base_free) = NULL;
    int status = check_lock(cmd);
    if (status != 0)
        return status;
    if (!ledger_schema_agree(cmd->ledger, &previous, &cmd->error))
        return schema_fail(cmd);
    const char *now = lock_method_name(cmd->config->lock.method);
    if (strcmp(previous, now) != 0)
        printf("schema %s: lock.method was %s, and is now %s\n", cmd->config->database.schema, previous, now);
    return 0;
}

static int print_version(struct cmd *cmd)
{
    int found, needed = ledger_schema_needed(cmd->ledger);
    if (!ledger_schema_version(cmd->ledger, &found, &cmd->error))
        return cmd_error(EX_UNAVAILABLE, cmd);
    printf("schema %s: version %d installed, %d needed%s\n", cmd->config->database.schema, found, needed,
           found == 0       ? "; run: oncedrop schema install"
           : found < needed ? "; run: oncedrop schema upgrade"
                            : "");
    return found == needed ? 0 : 1;
}

static const struct {
    const char *word;
    int (*run)(struct cmd *cmd);
} actions[] = {
    {"install", upgrade}, {"upgrade", upgrade},       {"method", set_method},
    {"print", print_sql}, {"version", print_version},
};

int cmd_schema_word(struct cmd *cmd)
{
    size_t i = 0;
    while (i < G_N_ELEMENTS(actions) && strcmp(cmd->operands[0], actions[i].word) != 0)
        i++;
    if (i == G_N_ELEMENTS(actions))
        return CMD_USAGE;
    int status = cmd_open(cmd, actions[i].run == print_sql ? CMD_AS_CALLER : CMD_AS_OWNER);
    if (status != 0)
        return status;
    if (strcmp(actions[i].word, "install") == 0 && !ledger_schema_create(cmd->config, &cmd->error))
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (actions[i].run != print_sql && (cmd->ledger = ledger_open(cmd->config, NULL, &cmd->error)) == NULL)
        return schema_fail(cmd);
    return actions[i].run(cmd);
}

int cmd_schema(struct cmd *cmd)
{
    int status = cmd_schema_word(cmd);
    if (status == CMD_USAGE)
        cmd_wrong(cmd, "%.80s: must be " CMD_SCHEMA_WORDS, cmd->operands[0]);
    return status;
}
