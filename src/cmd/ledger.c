/* SPDX-License-Identifier: ISC
 *
 * ledger: creates, upgrades, backs up, checks or copies it; schema: its older name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "ledger/ledger_check.h"

#define DAMAGE "what to do: DAMAGE in oncedrop-ledger(7)"

/* Fails unless the ledger is a file. */
static int open_file(struct cmd *cmd)
{
    int status = cmd_open(cmd, CMD_AS_SERVICE);
    if (status != 0 || config_is_file(cmd->config))
        return status;
    return cmd_fail(EX_USAGE,
                    "ledger %s: is for a ledger in a file; what a database server has for that: oncedrop-ledger(1)",
                    cmd->operands[0]);
}

static int backup(struct cmd *cmd)
{
    int status = open_file(cmd);
    if (status != 0)
        return status;
    return ledger_backup(cmd->config, cmd->operands[1], &cmd->error) ? 0 : cmd_error(EX_CANTCREAT, cmd);
}

/* which: prefix of the error; options: for the hint. */
static int check_schema_version(struct cmd *cmd, struct ledger *ledger, const char *which, const char *options)
{
    int found, needed = ledger_schema_needed(ledger);
    if (!ledger_schema_version(ledger, &found, &cmd->error))
        return cmd_fail(EX_UNAVAILABLE, "%s%s", which, cmd->error.text);
    if (found == needed)
        return 0;
    return cmd_fail(1, "%sthe schema has version %d, and this program needs %d%s%s%s", which, found, needed,
                    found > needed ? "" : "; run: oncedrop ", found > needed ? "" : options,
                    found > needed ? ""
                    : found == 0   ? "ledger install"
                                   : "ledger upgrade");
}

static int check(struct cmd *cmd)
{
    int status = open_file(cmd);
    if (status != 0)
        return status;
    cmd->ledger = ledger_open(cmd->config, NULL, &cmd->error);
    struct sql_rows *damage OD_CLEANUP(sql_rows_free) = cmd->ledger != NULL ? ledger_damage(cmd->ledger, &cmd->error)
                                                                            : NULL;
    if (damage == NULL)
        return cmd_error(EX_UNAVAILABLE, cmd);
    for (size_t row = 0; row < damage->count; row++)
        puts(sql_text(damage, row, 0));
    fflush(stdout);
    if (damage->count > 0)
        return cmd_fail(1, "%s is damaged; " DAMAGE, cmd->config->database.conninfo);
    int version;
    if (!ledger_schema_version(cmd->ledger, &version, &cmd->error))
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (version == 0)
        return cmd_fail(1, "%s has no ledger in it; " DAMAGE, cmd->config->database.conninfo);
    status = check_schema_version(cmd, cmd->ledger, "", "");
    if (status == 0)
        printf("%s is whole\n", cmd->config->database.conninfo);
    return status;
}

/* Returns NULL, with a report, if it is wrong. */
static struct config *target_of(struct cmd *cmd)
{
    const char *conninfo = cmd->operands[1];
    struct config *target = config_load(cmd->config_file, cmd->overrides, &cmd->error);
    if (target == NULL) {
        (void)cmd_error(EX_CONFIG, cmd);
        return NULL;
    }
    bool same = strcmp(target->database.conninfo, conninfo) == 0, two_files = config_is_file(target);
    base_free(&target->database.conninfo);
    target->database.conninfo = base_strdup(conninfo);
    two_files = two_files && config_is_file(target);
    if (!same && !two_files && !(config_is_file(target) && conninfo[strlen(CONFIG_SQLITE)] != '/'))
        return target;
    (void)cmd_wrong(cmd, "copy: %s",
                    same        ? "TARGET is the ledger itself"
                    : two_files ? "from one file to another: oncedrop ledger backup FILE"
                                : "TARGET: behind " CONFIG_SQLITE " comes the file's path, from /");
    config_free(&target);
    return NULL;
}

/* Opens a database as the caller, a file as its owner. */
static bool open_both(struct cmd *cmd, const struct config *target, struct ledger **ret)
{
    bool from_file = config_is_file(cmd->config), to_file = config_is_file(target);
    if (!ledger_load(cmd->config, &cmd->error) || !ledger_load(target, &cmd->error))
        return false;
    for (int files = 0; files <= 1; files++) {
        if (files && (from_file || to_file) && !privilege_must_become(cmd->config->service.user, false, &cmd->error))
            return false;
        if (from_file == files && (cmd->ledger = ledger_open(cmd->config, NULL, &cmd->error)) == NULL)
            return error_prefix(&cmd->error, "from");
        if (to_file == files && (*ret = ledger_open(target, NULL, &cmd->error)) == NULL)
            return error_prefix(&cmd->error, "to");
    }
    return true;
}

static int copy_tables(struct cmd *cmd, struct ledger *target)
{
    for (size_t table = 0; table < LEDGER_TRANSFER_TABLES; table++) {
        struct ledger_transferred done;
        if (!ledger_transfer_table(cmd->ledger, target, table, &done, &cmd->error))
            return cmd_fail(1, "%s; TARGET must be another ledger, empty or with the beginning of an earlier copy",
                            cmd->error.text);
        printf("%s: %" PRId64 " rows, %" PRId64 " of them copied now\n", done.table, done.rows, done.added);
        fflush(stdout);
    }
    if (!ledger_transfer_end(cmd->ledger, target, &cmd->error) ||
        !ledger_transfer_compare(cmd->ledger, target, &cmd->error))
        return cmd_error(1, cmd);
    puts("both are the same: all rows and numbers were compared");
    return 0;
}

static int copy(struct cmd *cmd)
{
    struct ledger *target OD_CLEANUP(ledger_close) = NULL;
    int status = cmd_open(cmd, CMD_AS_CALLER);
    if (status != 0)
        return status;
    struct config *config OD_CLEANUP(config_free) = target_of(cmd);
    if (config == NULL)
        return EX_USAGE;
    if (!open_both(cmd, config, &target))
        return cmd_error(EX_UNAVAILABLE, cmd);
    status = check_schema_version(cmd, cmd->ledger, "from: ", "");
    if (status == 0)
        status = check_schema_version(cmd, target, "to: ", "-o database.conninfo=TARGET ");
    if (status != 0)
        return status;
    if (!ledger_transfer_begin(cmd->ledger, cmd->options.running, &cmd->error))
        return cmd_fail(EX_TEMPFAIL, "%s; stop deliveries, or give --running (see oncedrop-ledger(1))",
                        cmd->error.text);
    return copy_tables(cmd, target);
}

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
                    " 'database.conninfo=host=localhost dbname=oncedrop user=oncedrop_owner' ledger %s",
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
        return cmd_fail(1, "schema %s is not installed; run: oncedrop ledger install", schema);
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
           found == 0       ? "; run: oncedrop ledger install"
           : found < needed ? "; run: oncedrop ledger upgrade"
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

/* Runs the first operand, which must be one of these words. */
static int run_schema_word(struct cmd *cmd, const char *words)
{
    size_t i = 0;
    while (i < G_N_ELEMENTS(actions) && strcmp(cmd->operands[0], actions[i].word) != 0)
        i++;
    if (i == G_N_ELEMENTS(actions))
        return cmd_wrong(cmd, "%.80s: must be %s", cmd->operands[0], words);
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
    return run_schema_word(cmd, CMD_SCHEMA_WORDS);
}

int cmd_ledger(struct cmd *cmd)
{
    const char *word = cmd->operands[0], *operand = cmd->operands[1];
    bool copies = strcmp(word, "copy") == 0, takes = copies || strcmp(word, "backup") == 0;
    if (takes != (operand != NULL) || (cmd->options.running && !copies))
        return cmd_wrong(cmd, "%.80s: %s", word,
                         operand != NULL ? "takes nothing more"
                         : takes         ? "FILE or TARGET is missing"
                                         : "does not take --running");
    if (takes)
        return copies ? copy(cmd) : backup(cmd);
    return strcmp(word, "check") == 0 ? check(cmd) : run_schema_word(cmd, CMD_LEDGER_WORDS);
}
