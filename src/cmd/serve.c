/* SPDX-License-Identifier: ISC
 *
 * serve: the resident service. lmtp: one session on stdin and stdout. */
#include <fcntl.h>
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "decode/decoded.h"
#include "delivery/delivery.h"
#include "lmtp/lmtp.h"

/* For sd_listen_fds(3), sd_notify(3) and libraries. */
static const char *const environment[] = {
    "LISTEN_PID", "LISTEN_FDS", "NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "LANG", "TZ", "TMPDIR", NULL,
};

/* service.user may be unable to read modules, and an upgrade replaces them. */
static bool load_for_workers(const struct config *config, struct error *error)
{
    return decoding_load_module(error) != NULL && ledger_load(config, error) && mailbox_load(config, error);
}

/* Returns NULL also without a module: workers would defer all mail. */
static struct config *load_again(void *context, struct error *error)
{
    struct config *config = cmd_config_load(context, STDERR_FILENO, error);
    if (config != NULL && !load_for_workers(config, error))
        config_free(&config);
    return config;
}

/* Opens the socket and loads modules as root. Then reads the configuration as the user who reloads it. */
static bool begin_service(struct lmtp_service *service, struct error *error)
{
    if (!load_for_workers(service->config, error) ||
        !lmtp_service_socket_open(service->config->service.socket, service->config->service.allowed_networks,
                                  &service->socket, error))
        return false;
    if (geteuid() != 0)
        return true;
    if (!privilege_must_become(service->config->service.user, false, error))
        return false;
    struct config *config = service->load(service->context, error);
    if (config == NULL)
        return false;
    config_free(&service->config);
    service->config = config;
    return true;
}

int cmd_serve(struct cmd *cmd)
{
    struct lmtp_service service = {.socket = {.fd = -1, .lock_fd = -1}, .load = load_again, .context = cmd};
    privilege_clear_environment(environment);
    signal(SIGPIPE, SIG_IGN);
    service.config = cmd_config_load(cmd, STDERR_FILENO, &cmd->error);
    if (service.config == NULL)
        return cmd_error(EX_CONFIG, cmd);
    bool begun = begin_service(&service, &cmd->error);
    if (begun) {
        log_info("serving on %s with %d workers", service.config->service.socket, (int)service.config->service.workers);
        lmtp_service_run(&service);
    }
    lmtp_service_socket_close(&service.socket);
    config_free(&service.config);
    return begun ? 0 : cmd_fail(EX_UNAVAILABLE, "serve: %s", cmd->error.text);
}

int cmd_lmtp(struct cmd *cmd)
{
    cmd_clear_environment();
    deadline_install(lmtp_end_by_signal);
    /* inetd makes stdin, stdout and stderr one socket, for replies only. */
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (in < 0 || out < 0) { /* else the peer waits for its timeout */
        lmtp_refuse(out >= 0 ? out : STDOUT_FILENO, "4.3.0 no file descriptor for the session");
        return outcome_row(OUTCOME_TEMPFAIL)->exit_status;
    }
    int log_fd = output_open();
    if (cmd->argc != 1) {
        lmtp_refuse(out, "4.3.5 oncedrop lmtp takes no arguments");
        return outcome_row(OUTCOME_CONFIG)->exit_status;
    }
    struct config *config = cmd->config = cmd_config_load(cmd, log_fd, &cmd->error);
    if (config == NULL || cmd_become(config, CMD_AS_OWNER, &cmd->error) != 0) {
        struct report report;
        char line[1024];
        report_set(&report, OUTCOME_CONFIG, "%s", cmd->error.text);
        log_error("%s", cmd->error.text);
        lmtp_refuse(out, report_line(&report, line, sizeof(line)));
        return outcome_row(OUTCOME_CONFIG)->exit_status;
    }
    if (config->delivery.memory > 0)
        base_limit_memory(config->delivery.memory);
    struct lmtp_cache kept OD_CLEANUP(lmtp_cache_clear) = lmtp_cache_new(config);
    lmtp_serve(config, in, out, &LMTP_ALONE, &kept);
    return 0;
}
