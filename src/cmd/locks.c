/* SPDX-License-Identifier: ISC
 *
 * locks: messages in delivery, lock holders, waiting sessions. */
#include <stdio.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/table.h"

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
