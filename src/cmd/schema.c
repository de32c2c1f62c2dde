/* SPDX-License-Identifier: ISC
 *
 * schema: installs, upgrades, or prints the tables, and records how all hosts lock. */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "ledger/ledger_check.h"
#include "ledger/ledger_remedy.h"
#include "ledger/ledger_schema.h"

#define WORDS "install, upgrade, method, print or version"

static int print_sql(const struct cmd_options *options)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    char *sql OD_CLEANUP(base_free) = ledger_schema_script(config);
    fputs(sql, stdout);
    return 0;
}

/* The tables belong to their owner, and neither deliveries nor people who read should be that user. word: of the
 * command. */
static int fail(const struct config *config, const char *word, const struct fault *fault)
{
    bool no_role = strcmp(fault->code, LEDGER_NO_ROLE) == 0, refused = strcmp(fault->code, "42501") == 0;
    if (!no_role && !refused)
        return cmd_fail(EX_UNAVAILABLE, "schema %s: %s", config->database.schema, fault->text);
    return cmd_fail(EX_UNAVAILABLE,
                    "schema %s: %s; connect as the schema's owner, as in: oncedrop -o"
                    " 'database.conninfo=host=localhost dbname=oncedrop user=oncedrop_owner' schema %s",
                    config->database.schema, no_role ? "the database does not let this user in" : fault->text, word);
}

/* A schema is of no use with locks that do not exclude. */
static int check_lock(const struct config *config)
{
    struct ledger_check_lock lock;
    struct fault fault;
    bool excludes = ledger_check_lock(config, &lock, &fault);
    base_free(&lock.left_out);
    return excludes ? 0 : cmd_fail(EX_UNAVAILABLE, "lock: %s", fault.text);
}

static int upgrade(struct ledger *ledger, const struct config *config, const char *word)
{
    struct fault fault;
    bool install = strcmp(word, "install") == 0;
    int from;
    if (!ledger_schema_version(ledger, &from, &fault))
        return fail(config, word, &fault);
    if (!install && from == 0)
        return cmd_fail(1, "schema %s is not installed; run: oncedrop schema install", config->database.schema);
    if (from > ledger_schema_needed())
        return cmd_fail(1, "schema %s: version %d is newer than this program, which needs %d: nothing was changed",
                        config->database.schema, from, ledger_schema_needed());
    if (!ledger_schema_upgrade(ledger, &from, &fault))
        return fail(config, word, &fault);
    if (from == 0)
        printf("schema %s: version %d installed\n", config->database.schema, ledger_schema_needed());
    else if (from < ledger_schema_needed())
        printf("schema %s: upgraded from version %d to %d\n", config->database.schema, from, ledger_schema_needed());
    fflush(stdout);
    return install ? check_lock(config) : 0;
}

static int method(struct ledger *ledger, const struct config *config)
{
    struct fault fault;
    char *previous OD_CLEANUP(base_free) = NULL;
    int status = check_lock(config);
    if (status != 0)
        return status;
    if (!ledger_schema_agree(ledger, &previous, &fault))
        return fail(config, "method", &fault);
    const char *now = lock_method_name(config->lock.method);
    if (strcmp(previous, now) != 0)
        printf("schema %s: lock.method was %s, and is now %s\n", config->database.schema, previous, now);
    return 0;
}

static int version(struct ledger *ledger, const struct config *config)
{
    struct fault fault;
    int found;
    if (!ledger_schema_version(ledger, &found, &fault))
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    printf("schema %s: version %d installed, %d needed%s\n", config->database.schema, found, ledger_schema_needed(),
           found == 0                       ? "; run: oncedrop schema install"
           : found < ledger_schema_needed() ? "; run: oncedrop schema upgrade"
                                            : "");
    return found == ledger_schema_needed() ? 0 : 1;
}

int cmd_schema(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct fault fault;
    if (!cmd_parse(argc, argv, NULL, 1, 1, WORDS))
        return CMD_USAGE;
    const char *word = argv[optind];
    if (strcmp(word, "print") == 0)
        return print_sql(options);
    bool tell = strcmp(word, "version") == 0, agree = strcmp(word, "method") == 0;
    if (!tell && !agree && strcmp(word, "install") != 0 && strcmp(word, "upgrade") != 0) {
        cmd_wrong(argv, "%.80s: must be " WORDS, word);
        return CMD_USAGE;
    }
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    ledger = ledger_open(config, NULL, &fault);
    if (ledger == NULL)
        return fail(config, word, &fault);
    if (agree)
        return method(ledger, config);
    return tell ? version(ledger, config) : upgrade(ledger, config, word);
}
