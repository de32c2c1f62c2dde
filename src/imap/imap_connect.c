/* SPDX-License-Identifier: ISC */
#include "imap/imap.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Returns -1 with errno set on failure. */
static int connect_socket(const struct sockaddr *address, socklen_t length, int64_t ms)
{
    int fd OD_CLEANUP(base_close) = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, address, length) < 0) {
        if (errno != EINPROGRESS)
            return -1;
        int ready = base_poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, base_now_ms() + ms);
        int errnum = ETIMEDOUT;
        socklen_t size = sizeof(errnum);
        if (ready < 0 || (ready > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &size) < 0))
            return -1;
        if (errnum != 0) {
            errno = errnum;
            return -1;
        }
    }
    int connected = fd;
    fd = -1;
    return connected;
}

static int connect_unix(const struct config *config, const char *peer_name, int64_t ms, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(config->imap.host) >= sizeof(address.sun_path)) {
        error_set(error, "%s: the path is too long for a socket", peer_name);
        return -1;
    }
    strcpy(address.sun_path, config->imap.host);
    int fd = connect_socket((const struct sockaddr *)&address, sizeof(address), ms);
    if (fd < 0)
        error_set(error, "%s: cannot connect: %s", peer_name, strerror(errno));
    return fd;
}

unsigned imap_connect_port(const struct config *config)
{
    if (config->imap.port != 0)
        return (unsigned)config->imap.port;
    return config->imap.tls == IMAP_TLS_IMAPS ? 993 : 143;
}

/* Gives each address an equal share of the remaining time, since one may drop packets. */
static int connect_tcp(const struct config *config, const char *peer_name, int64_t limit, struct error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *addresses;
    char port[8];
    snprintf(port, sizeof(port), "%u", imap_connect_port(config) & 0xffff);
    int errnum = getaddrinfo(config->imap.host, port, &hints, &addresses);
    if (errnum != 0) {
        error_set(error, "%s: host name lookup failed: %s (check imap.host)", peer_name,
                  errnum == EAI_SYSTEM ? strerror(errno) : gai_strerror(errnum));
        return -1;
    }
    int left = 0;
    for (const struct addrinfo *p = addresses; p != NULL; p = p->ai_next)
        left++;
    int fd = -1;
    int64_t end = base_now_ms() + limit;
    for (const struct addrinfo *p = addresses; p != NULL && fd < 0; p = p->ai_next, left--) {
        int64_t ms = (end - base_now_ms()) / left;
        fd = connect_socket(p->ai_addr, p->ai_addrlen, ms > 0 ? ms : 0);
    }
    if (fd < 0)
        error_set(error, "%s: cannot connect: %s", peer_name, strerror(errno));
    freeaddrinfo(addresses);
    return fd;
}

int imap_connect(const struct config *config, const char *peer_name, int64_t ms, bool *ret_local, struct error *error)
{
    bool is_path = config->imap.host[0] == '/';
    int fd = is_path ? connect_unix(config, peer_name, ms, error) : connect_tcp(config, peer_name, ms, error);
    if (fd < 0)
        return -1;
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof(peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0) {
        error_set(error, "%s: connection lost: %s", peer_name, strerror(errno));
        close(fd);
        return -1;
    }
    if (!is_path) /* a literal's end must not wait for a delayed ACK */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    *ret_local = network_is_loopback((const struct sockaddr *)&peer);
    return fd;
}
