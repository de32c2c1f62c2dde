/* SPDX-License-Identifier: ISC
 *
 * serve: the resident service. */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"
#include "cmd/cmd.h"
#include "decode/decode_module.h"
#include "lmtp/lmtp_service.h"

/* Of sd_listen_fds(3) and sd_notify(3), and what libraries may look at. */
static const char *const environment[] = {
    "LISTEN_PID", "LISTEN_FDS", "NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "LANG", "TZ", "TMPDIR", NULL,
};

static struct config *load_again(void *context, struct fault *fault)
{
    return cmd_config_load(context, STDERR_FILENO, fault);
}

/* Root becomes service.user; it stays root only if that is what the configuration says. */
static bool become_user(const char *user, struct fault *fault)
{
    errno = 0;
    if (geteuid() == 0 && user[0] != '\0' && getpwnam(user) == NULL)
        return fault_set(fault, "there is no user %s (service.user)%s%s", user, errno != 0 ? ": " : "",
                         errno != 0 ? strerror(errno) : "");
    return privilege_become(user, false, fault);
}

/* The socket is made and the decoder loaded first, since only root may do so everywhere. The configuration is read again
 * as the user who will read it at a reload. */
static bool begin_service(struct lmtp_service *service, struct fault *fault)
{
    if (decode_module_load(fault) == NULL ||
        !lmtp_service_socket_open(service->config->service.socket, &service->socket, fault))
        return false;
    if (geteuid() != 0)
        return true;
    if (!become_user(service->config->service.user, fault))
        return false;
    struct config *config = service->load(service->context, fault);
    if (config == NULL)
        return false;
    config_free(&service->config);
    service->config = config;
    return true;
}

int cmd_serve(struct cmd *cmd)
{
    struct lmtp_service service = {.socket = {.fd = -1, .lock_fd = -1}, .load = load_again, .context = cmd};
    if (!cmd_parse(cmd, NULL, 0, 0, NULL))
        return CMD_USAGE;
    privilege_clear_environment(environment);
    signal(SIGPIPE, SIG_IGN);
    service.config = load_again(cmd, &cmd->fault);
    if (service.config == NULL)
        return cmd_fault(EX_CONFIG, cmd);
    bool begun = begin_service(&service, &cmd->fault);
    if (begun) {
        log_info("serving on %s with %d workers", service.config->service.socket, (int)service.config->service.workers);
        lmtp_service_run(&service);
    }
    lmtp_service_socket_close(&service.socket);
    config_free(&service.config);
    return begun ? 0 : cmd_fail(EX_UNAVAILABLE, "serve: %s", cmd->fault.text);
}
