/* SPDX-License-Identifier: ISC
 *
 * schema: the tables are installed, upgraded, or only printed. */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "ledger/ledger_schema.h"

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

static int upgrade(struct ledger *ledger, const struct config *config, bool install)
{
    struct fault fault;
    int from;
    if (!ledger_schema_version(ledger, &from, &fault))
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    if (!install && from == 0)
        return cmd_fail(1, "schema %s is not installed; run: oncedrop schema install", config->database.schema);
    if (!ledger_schema_upgrade(ledger, &from, &fault))
        return cmd_fail(EX_UNAVAILABLE, "schema %s: %s", config->database.schema, fault.text);
    if (from == ledger_schema_needed())
        printf("schema %s: version %d is there already\n", config->database.schema, from);
    else
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
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    if (argc != 2)
        return cmd_usage("schema");
    if (strcmp(argv[1], "print") == 0)
        return print_sql(options);
    bool install = strcmp(argv[1], "install") == 0, tell = strcmp(argv[1], "version") == 0;
    if (!install && !tell && strcmp(argv[1], "upgrade") != 0)
        return cmd_usage("schema");
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    return tell ? version(ledger, config) : upgrade(ledger, config, install);
}
