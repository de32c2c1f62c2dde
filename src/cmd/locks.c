/* SPDX-License-Identifier: ISC
 *
 * locks: who is at what just now. */
#include <stdio.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"
#include "cmd/usage.h"
#include "ledger/ledger_list.h"

int cmd_locks(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct fault fault;
    bool json = false;
    if (!cmd_parse_json(argc, argv, &json) || !usage_operands(argc, argv, 0, 0, "nothing"))
        return cmd_usage("locks");
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = ledger_locks(ledger, &fault);
    if (table == NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    if (json)
        table_print_json(table_json(table));
    else if (table->rows == 0)
        puts("no delivery is in progress");
    else
        table_print_list(table);
    return 0;
}
