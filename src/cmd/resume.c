/* SPDX-License-Identifier: ISC
 *
 * resume: finishes what was recorded but never finished, by the same delivery. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "base/terminal.h"
#include "cmd/cmd.h"
#include "ledger/ledger_resume.h"
#include "replay/replay_ledger.h"
#include "replay/replay_run.h"

/* Also reports what cannot be finished here; otherwise it would be taken for done. */
static void report_others(struct cmd *cmd)
{
    int64_t others = 0;
    if (!ledger_unfinished_others(cmd->ledger, &others, &cmd->fault))
        cmd_fault(0, cmd);
    if (others > 0)
        terminal_print(stderr, 0,
                       "%" PRId64
                       " more unfinished: left to Postfix, because their bytes are not recorded"
                       " (record.level = raw), or may be incomplete",
                       others);
}

int cmd_resume(struct cmd *cmd)
{
    const char *jobs = NULL;
    struct replay_ledger messages = {.ledger = NULL};
    struct replay_setup setup = {
        .command = "resume",
        .hint = "to continue, run it again",
        .next = replay_ledger_next,
        .load = replay_ledger_load,
        .context = &messages,
    };
    const struct cmd_option words[] = {{"j", .text = &jobs}, {"json", .flag = &setup.json}, {.name = NULL}};
    bool good = cmd_parse(cmd, words, 0, 0, NULL) && cmd_parse_jobs(cmd, jobs, &setup.jobs);
    int status = good ? cmd_connect(cmd) : CMD_USAGE;
    if (status != 0)
        return status;
    messages.ledger = cmd->ledger;
    setup.config = cmd->config;
    status = replay_run(&setup, &cmd->fault);
    if (cmd->fault.text[0] != '\0')
        return cmd_fault(EX_UNAVAILABLE, cmd);
    report_others(cmd);
    return status;
}
