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

/* Also reports what cannot be finished here; otherwise it would be taken for done. */
static void tell_others(struct ledger *ledger)
{
    struct fault fault;
    int64_t others = 0;
    if (!ledger_unfinished_others(ledger, &others, &fault))
        cmd_fail(0, "%s", fault.text);
    if (others == 0)
        return;
    char *line OD_CLEANUP(base_free) =
        base_printf("%" PRId64
                    " more unfinished: left to Postfix, because their bytes are not recorded"
                    " (record.level = raw), or may be incomplete",
                    others);
    terminal_print(stderr, 0, line);
}

int cmd_resume(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    const char *jobs_text = NULL;
    size_t jobs;
    bool json = false;
    const struct cmd_option words[] = {{"j", .text = &jobs_text}, {"json", .flag = &json}, {.name = NULL}};
    if (!cmd_parse(argc, argv, words, 0, 0, NULL) || !cmd_parse_jobs(argv, jobs_text, &jobs))
        return CMD_USAGE;
    int status = cmd_open(options, &config, &ledger);
    if (status != 0)
        return status;
    struct replay_ledger *messages OD_CLEANUP(replay_ledger_free) = replay_ledger_new(ledger);
    const struct replay_setup setup = {.config = config, .load = replay_ledger_load, .jobs = jobs};
    const struct replay_source source = {.next = replay_ledger_next, .context = messages};
    struct replay_output *output = replay_output_new("resume", json, false, 0);
    status = replay_run(&setup, &source, output);
    if (replay_ledger_fault(messages) != NULL)
        replay_output_cancel(&output);
    else
        replay_output_end(&output, status == EX_TEMPFAIL ? "to continue, run it again" : NULL);
    if (replay_ledger_fault(messages) != NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", replay_ledger_fault(messages));
    tell_others(ledger);
    return status;
}
