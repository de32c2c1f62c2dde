/* SPDX-License-Identifier: ISC
 *
 * User ids and names. */
#include "lmtp/lmtp_peer.h"

#include <errno.h>
#include <glib.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* By name first; several names may have one user id. */
static bool is_client(const char *clients, const char *login, uid_t uid)
{
    g_auto(GStrv) names = g_strsplit_set(clients, " \t,", -1);
    if (g_strv_contains((const char *const *)names, login))
        return true;
    for (char **name = names; *name != NULL; name++) {
        const struct passwd *user = (*name)[0] != '\0' ? getpwnam(*name) : NULL;
        if (user != NULL && user->pw_uid == uid)
            return true;
    }
    return false;
}

bool lmtp_peer_find(const struct config *config, int fd, struct lmtp_peer *ret, struct fault *fault)
{
    struct ucred peer = {.pid = 0};
    int domain = AF_UNSPEC;
    socklen_t size = sizeof(peer), domain_size = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 ||
        (domain == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)) {
        fault_set(fault, "the kernel does not say who is connected: %m");
        return false;
    }
    if (domain != AF_UNIX || peer.uid == 0 || peer.uid == geteuid()) {
        *ret = (struct lmtp_peer){.is_local = domain == AF_UNIX, .uid = peer.uid, .believed = true};
        return true;
    }
    errno = 0;
    const struct passwd *user = getpwuid(peer.uid);
    if (user == NULL || user->pw_name[0] == '\0') {
        fault_set(fault, "user id %u has no name%s%s", (unsigned)peer.uid, errno != 0 ? ": " : "",
                  errno != 0 ? strerror(errno) : "");
        return false;
    }
    char *login = base_strdup(user->pw_name);
    *ret = (struct lmtp_peer){.is_local = true, .uid = peer.uid};
    ret->believed = is_client(config->service.clients, login, peer.uid);
    if (ret->believed)
        base_free(&login);
    ret->login = login;
    return true;
}

void lmtp_peer_clear(struct lmtp_peer *peer)
{
    base_free(&peer->login);
}
