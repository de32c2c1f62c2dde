/* SPDX-License-Identifier: ISC
 *
 * lmtp: a session on standard input and output, as spawn(8) and inetd start it. */
#include <fcntl.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/log.h"
#include "base/output.h"
#include "cmd/cmd.h"
#include "delivery/delivery.h"
#include "lmtp/lmtp.h"

int cmd_lmtp(struct cmd *cmd)
{
    cmd_clear_environment();
    deadline_install(lmtp_end_by_signal);
    /* Under spawn(8) and inetd, stdin, stdout and stderr are one socket: nothing but replies may be written to it. */
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (in < 0 || out < 0) { /* without this reply the peer would wait for its whole time limit */
        lmtp_refuse(out >= 0 ? out : STDOUT_FILENO, "4.3.0 no file descriptor for the session");
        return outcome_row(OUTCOME_TROUBLE)->exit_status;
    }
    int log_fd = output_open();
    if (cmd->argc != 1) {
        lmtp_refuse(out, "4.3.5 oncedrop lmtp takes no arguments");
        return outcome_row(OUTCOME_CONFIG)->exit_status;
    }
    struct config *config = cmd->config = cmd_config_load(cmd, log_fd, &cmd->fault);
    if (config == NULL) {
        struct report report;
        char line[1024];
        report_set(&report, OUTCOME_CONFIG, "%s", cmd->fault.text);
        log_error("%s", cmd->fault.text);
        lmtp_refuse(out, report_line(&report, line, sizeof(line)));
        return outcome_row(OUTCOME_CONFIG)->exit_status;
    }
    if (config->delivery.memory > 0)
        base_limit_memory(config->delivery.memory);
    struct lmtp_kept kept OD_CLEANUP(lmtp_kept_clear) = lmtp_kept_new(config);
    lmtp_serve(config, in, out, &LMTP_ALONE, &kept);
    return 0;
}
