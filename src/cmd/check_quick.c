/* SPDX-License-Identifier: ISC
 *
 * check --quick: a container's health check. Ends within about a second, even if a disk hangs. */
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/check.h"

#define ALL_MS 960      /* in all */
#define DATABASE_MS 400 /* the rest is for IMAP, ... */
#define REPORT_MS 130   /* ... ending and reporting a step, ... */
#define WORDS_MS 50     /* ... and reporting an unresponsive server */
#define TIMED_OUT \
    "the configuration, a file that it names, the user database or the disk of the ledger does not answer in time"

static bool as_json;

/* Steps end before, unless the kernel hangs. */
static void end_timed_out(int signal)
{
    const char *text = as_json ? "[{\"item\": \"check\", \"status\": \"failed\", \"text\": \"" TIMED_OUT "\"}]\n"
                               : "failed  check         " TIMED_OUT "\n";
    bool written = signal != SIGALRM || write(STDOUT_FILENO, text, strlen(text)) > 0;
    _exit(signal != SIGALRM ? 128 + signal : written ? 1 : EX_IOERR);
}

static void step_greeting(struct check *check)
{
    check_greeting(check, MAX(deadline_left_ms() - WORDS_MS, 1));
}

int check_quick(struct check *check)
{
    struct cmd *cmd = check->cmd;
    as_json = cmd->options.json;
    deadline_install(end_timed_out);
    if (!deadline_arm(ALL_MS, &cmd->error))
        return cmd_error(EX_OSERR, cmd);
    cmd->config = cmd_config_load(cmd, STDERR_FILENO, &cmd->error);
    if (cmd->config != NULL && cmd_become(cmd->config, CMD_AS_SERVICE, &cmd->error) == 0) {
        check_item(true, "configuration", "%s", cmd->config_file);
        check_step("database", DATABASE_MS, CHECK_UNRESPONSIVE, check_database, check);
        check_step("imap", MAX(deadline_left_ms() - REPORT_MS, 1), CHECK_UNRESPONSIVE, step_greeting, check);
    } else {
        check_item(false, "configuration", "%s", cmd->error.text);
    }
    deadline_disarm();
    return check_end();
}
