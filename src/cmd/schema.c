/* SPDX-License-Identifier: ISC
 *
 * schema: the tables are installed, upgraded, or only printed. */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"
#include "ledger/ledger_schema.h"

#define WORDS "install, upgrade, print or version"

static int print_sql(const struct cmd_options *options)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    char *sql OD_CLEANUP(base_free) = ledger_schema_sql(config, 0);
    fputs(sql, stdout);
    return 0;
}

/* Whoever delivers or reads must not be able to change the tables. */
static int fail(const struct config *config, const struct fault *fault)
{
    bool refused = strcmp(fault->code, "42501") == 0 || strcmp(fault->code, LEDGER_NO_ROLE) == 0;
    if (!refused)
        return cmd_fail(EX_UNAVAILABLE, "schema %s: %s", config->database.schema, fault->text);
    return cmd_fail(EX_UNAVAILABLE,
                    "schema %s: %s; it is made by its owner, as in: oncedrop -o 'database.conninfo=host=localhost"
                    " dbname=oncedrop user=oncedrop_owner' schema install",
                    config->database.schema, fault->text);
}

static int upgrade(struct ledger *ledger, const struct config *config, bool install)
{
    struct fault fault;
    int from;
    if (!ledger_schema_version(ledger, &from, &fault))
        return fail(config, &fault);
    if (!install && from == 0)
        return cmd_fail(1, "schema %s is not installed; run: oncedrop schema install", config->database.schema);
    if (!ledger_schema_upgrade(ledger, &from, &fault))
        return fail(config, &fault);
    if (from != ledger_schema_needed()) /* else nothing changed */
        printf("schema %s: version %d %s\n", config->database.schema, ledger_schema_needed(),
               from == 0 ? "installed" : "upgraded to");
    return 0;
}

static int version(struct ledger *ledger, const struct config *config)
{
    struct fault fault;
    int found;
    if (!ledger_schema_version(ledger, &found, &fault))
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    printf("schema %s: version %d installed, %d needed\n", config->database.schema, found, ledger_schema_needed());
    return found == ledger_schema_needed() ? 0 : 1;
}

int cmd_schema(const struct cmd_options *options, int argc, char **argv)
{
    static const struct option none[] = {{0}};
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct fault fault;
    if (usage_option(argc, argv, "", none) != -1 || !usage_operands(argc, argv, 1, 1, WORDS))
        return cmd_usage("schema");
    const char *word = argv[optind];
    if (strcmp(word, "print") == 0)
        return print_sql(options);
    bool install = strcmp(word, "install") == 0, tell = strcmp(word, "version") == 0;
    if (!install && !tell && strcmp(word, "upgrade") != 0) {
        usage_wrong(argv, "%.80s: must be " WORDS, word);
        return cmd_usage("schema");
    }
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    ledger = ledger_open(config, NULL, &fault);
    if (ledger == NULL)
        return fail(config, &fault);
    return tell ? version(ledger, config) : upgrade(ledger, config, install);
}
