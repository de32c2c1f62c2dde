/* SPDX-License-Identifier: ISC
 *
 * forget: removes an address's messages from the ledger. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"

/* rest: why they stay, and what to do. */
static void print_left(int64_t count, const char *rest, const char *when)
{
    if (count > 0)
        printf("%" PRId64 " message%s %s %s%s\n", count, count == 1 ? "" : "s", count == 1 ? "is" : "are", rest, when);
}

/* The log does not name the address. */
static void print_forgotten(const struct ledger_forget *forget)
{
    if (!forget->dry_run && forget->removed > 0)
        log_info("forget: %" PRId64 " message%s removed from the record", forget->removed,
                 forget->removed == 1 ? "" : "s");
    printf("%" PRId64 " message%s %sremoved from the record\n", forget->removed, forget->removed == 1 ? "" : "s",
           forget->dry_run ? "would be " : "");
    print_left(forget->too_recent, "too young, because Postfix may still retry: run it again after ", forget->old_at);
    print_left(forget->unfinished, "unfinished: run it again 7 days after the delivery, or once expired", "");
    print_left(forget->busy, "being delivered: run it again", "");
}

/* Updates the counters first, as purge does. */
static bool forget_all(struct cmd *cmd, struct ledger_forget *forget)
{
    if (!forget->dry_run && !ledger_counter_update(cmd->ledger, &cmd->error))
        return false;
    while (!forget->ended && ledger_forget_batch(cmd->ledger, forget, &cmd->error))
        ;
    return forget->ended;
}

static int forget_messages(struct cmd *cmd, struct ledger_forget *forget)
{
    bool done = forget_all(cmd, forget);
    int64_t left = forget->too_recent + forget->unfinished + forget->busy;
    if (done && forget->removed + left == 0)
        return cmd_fail(1, "nothing is recorded about %s", forget->address);
    if (done || forget->removed > 0)
        print_forgotten(forget);
    if (!done)
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (forget->dry_run && forget->removed > 0)
        puts("Nothing was changed; with --yes they are removed.");
    return !forget->dry_run && left > 0 ? EX_TEMPFAIL : 0;
}

int cmd_forget(struct cmd *cmd)
{
    char *address OD_CLEANUP(base_free) = NULL;
    if (!cmd_parse_address(cmd, &address))
        return CMD_USAGE;
    struct ledger_forget forget = {.address = address, .dry_run = !cmd->options.yes};
    int status = cmd_open_ledger(cmd);
    return status == 0 ? forget_messages(cmd, &forget) : status;
}
