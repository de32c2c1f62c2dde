/* SPDX-License-Identifier: ISC */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/check.h"
#include "lmtp/lmtp.h"

/* The service would defer such clients. */
static void check_clients(const struct config *config)
{
    g_auto(GStrv) names = g_strsplit_set(config->service.trusted_users, " \t,", -1);
    for (char **name = names; *name != NULL; name++)
        if ((*name)[0] != '\0' && getpwnam(*name) == NULL)
            check_item(CHECK_WARNING, "service", "service.trusted_users: there is no user %s", *name);
}

/* Returns the length; 0: closed, negative: error. */
static ssize_t read_reply_line(int fd, char *line, size_t size)
{
    ssize_t n = TEMP_FAILURE_RETRY(read(fd, line, size - 1));
    line[n > 0 ? n : 0] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return n;
}

/* Only a service that trusts us says so. */
static void check_in_force(const struct config *config, int fd)
{
    char line[512];
    char *digest OD_CLEANUP(base_free) = config_digest(config);
    char *question OD_CLEANUP(base_free) = base_printf("XCONFIG %s\r\n", digest);
    if (write(fd, question, strlen(question)) > 0 && read_reply_line(fd, line, sizeof(line)) > 0 &&
        strcmp(line, LMTP_OTHER_CONFIG) == 0)
        check_item(CHECK_WARNING, "service",
                   "it runs with another configuration or password than this one: after a change, "
                   "systemctl reload oncedrop, or SIGHUP; if that is not enough, restart it");
}

void check_service(struct check *check)
{
    const struct config *config = check->cmd->config;
    const char *path = config->service.socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[512];
    if (lmtp_service_socket_is_remote(path))
        check_item(
            CHECK_WARNING, "service",
            "service.socket = %s: mail and addresses cross the network in the clear, and every host in"
            " service.allowed_networks is trusted: fine between containers of one host; between hosts use a VPN or"
            " stunnel",
            path);
    if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path) || access(path, F_OK) != 0)
        return;
    strcpy(address.sun_path, path);
    int fd OD_CLEANUP(base_close) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        check_item(false, "service", "%s: %s: start oncedrop serve, or remove what an ended one has left", path,
                   strerror(errno));
        return;
    }
    if (read_reply_line(fd, line, sizeof(line)) <= 0 || strncmp(line, "220 ", 4) != 0)
        check_item(false, "service", "%s: no greeting%s%s; see its log", path, line[0] != '\0' ? " but " : "", line);
    else
        check_item(true, "service", "answers on %s; believed are root, its own user%s%s", path,
                   config->service.trusted_users[0] != '\0' ? " and " : "", config->service.trusted_users);
    check_in_force(config, fd);
    (void)!write(fd, "QUIT\r\n", 6);
    check_clients(config);
}
