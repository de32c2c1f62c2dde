/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_PASSED 3 /* SD_LISTEN_FDS_START */

union socket_address {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage storage;
};

static bool is_allowed(const char *what, const union socket_address *address, const char *networks, struct error *error)
{
    return networks[0] != '\0' || network_is_loopback(&address->any) ||
           error_set(
               error,
               "%s can be reached from other machines, and LMTP has no password: set service.allowed_networks to the"
               " networks of its clients, or listen on 127.0.0.1",
               what);
}

/* Returns whether systemd passes sockets to this process. */
static bool is_passed(int *ret_count)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
        return false;
    *ret_count = atoi(count);
    return *ret_count > 0;
}

static bool take_passed(int count, const char *networks, struct lmtp_service_socket *ret, struct error *error)
{
    static const char what[] = "the socket that systemd passes";
    int fd = FIRST_PASSED, listens = 0, type = 0;
    union socket_address address = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof(listens), type_size = sizeof(type), address_size = sizeof(address);
    if (count != 1)
        return error_set(error, "systemd passes %d sockets, but the service listens on one", count);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 ||
        getsockname(fd, &address.any, &address_size) != 0 || !listens || type != SOCK_STREAM)
        return error_set(error, "%s does not listen: it must be a ListenStream with Accept=no", what);
    if (!is_allowed(what, &address, networks, error))
        return false;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        return error_set(error, "%s: %m", what);
    *ret = (struct lmtp_service_socket){.fd = fd, .lock_fd = -1};
    return true;
}

static bool parse_tcp(const char *name, union socket_address *ret, socklen_t *ret_size)
{
    const char *colon = strrchr(name, ':');
    char *end;
    long port = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    if (colon == NULL || colon == name || port < 1 || port > 65535 || *end != '\0')
        return false;
    bool bracketed = name[0] == '[' && colon[-1] == ']';
    char *host OD_CLEANUP(base_free) = base_strndup(name + bracketed, (size_t)(colon - name) - (bracketed ? 2 : 0));
    *ret = (union socket_address){.any.sa_family = AF_UNSPEC};
    if (bracketed && inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons((uint16_t)port);
        *ret_size = sizeof(ret->v6);
        return true;
    }
    if (bracketed || inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &ret->v4.sin_addr) != 1)
        return false;
    ret->v4.sin_family = AF_INET;
    ret->v4.sin_port = htons((uint16_t)port);
    *ret_size = sizeof(ret->v4);
    return true;
}

static int new_socket(int family, struct error *error)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        error_set(error, "cannot make a socket: %m");
    return fd;
}

static bool open_tcp(const char *name, const char *networks, struct lmtp_service_socket *ret, struct error *error)
{
    union socket_address address;
    socklen_t size;
    int on = 1;
    if (!parse_tcp(name, &address, &size))
        return error_set(error, "service.socket = %s: neither an absolute path nor ADDRESS:PORT", name);
    char *what OD_CLEANUP(base_free) = base_printf("service.socket = %s", name);
    if (!is_allowed(what, &address, networks, error))
        return false;
    int fd OD_CLEANUP(base_close) = new_socket(address.any.sa_family, error);
    if (fd < 0)
        return false;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 || bind(fd, &address.any, size) != 0 ||
        listen(fd, SOMAXCONN) != 0)
        return error_set(error, "service.socket = %s: %m", name);
    *ret = (struct lmtp_service_socket){.fd = fd, .lock_fd = -1};
    fd = -1;
    return true;
}

/* Only one service at a time may check and replace the file. */
static int lock_path(const char *path, struct error *error)
{
    char *name OD_CLEANUP(base_free) = base_printf("%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        error_set(error, "cannot make %s: %m%s", name,
                  errno == ENOENT
                      ? " (the directory of service.socket must exist; systemd's RuntimeDirectory makes one)"
                      : "");
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    error_set(error, "%s: %s", path, errno == EWOULDBLOCK ? "another oncedrop serve listens there" : strerror(errno));
    close(fd);
    return -1;
}

/* Removes a dead service's socket. False: the path is in use. */
static bool free_path(const union socket_address *address, struct error *error)
{
    const char *path = address->local.sun_path;
    struct stat status;
    if (lstat(path, &status) != 0) {
        if (errno == ENOENT)
            return true;
        return error_set(error, "service.socket = %s: %m", path);
    }
    if (!S_ISSOCK(status.st_mode))
        return error_set(error, "%s: is not a socket: remove it, or set service.socket to another path", path);
    int fd OD_CLEANUP(base_close) = new_socket(AF_UNIX, error);
    if (fd < 0)
        return false;
    if (connect(fd, &address->any, sizeof(address->local)) == 0 || errno != ECONNREFUSED)
        return error_set(error, "%s: another process listens there", path);
    if (unlink(path) == 0 || errno == ENOENT)
        return true;
    return error_set(error, "%s: left by a service that is gone, and cannot be removed: %m", path);
}

static bool open_unix(const char *path, struct lmtp_service_socket *ret, struct error *error)
{
    union socket_address address = {.local.sun_family = AF_UNIX};
    struct stat status;
    if (strlen(path) >= sizeof(address.local.sun_path))
        return error_set(error, "service.socket = %s: longer than the %zu bytes of a socket's name", path,
                         sizeof(address.local.sun_path) - 1);
    strcpy(address.local.sun_path, path);
    int lock OD_CLEANUP(base_close) = lock_path(path, error);
    if (lock < 0 || !free_path(&address, error))
        return false;
    int fd OD_CLEANUP(base_close) = new_socket(AF_UNIX, error);
    if (fd < 0)
        return false;
    mode_t before = umask(0111); /* never with another mode */
    bool bound = bind(fd, &address.any, sizeof(address.local)) == 0;
    umask(before);
    if (!bound || lstat(path, &status) != 0 || listen(fd, SOMAXCONN) != 0)
        return error_set(error, "service.socket = %s: cannot listen: %m", path);
    *ret = (struct lmtp_service_socket){
        .fd = fd, .lock_fd = lock, .path = base_strdup(path), .device = status.st_dev, .inode = status.st_ino};
    fd = lock = -1;
    return true;
}

bool lmtp_service_socket_is_remote(const char *name)
{
    union socket_address address;
    socklen_t size;
    return name[0] != '/' && parse_tcp(name, &address, &size) && !network_is_loopback(&address.any);
}

bool lmtp_service_socket_open(const char *name, const char *networks, struct lmtp_service_socket *ret,
                              struct error *error)
{
    int count;
    if (is_passed(&count))
        return take_passed(count, networks, ret, error);
    return name[0] == '/' ? open_unix(name, ret, error) : open_tcp(name, networks, ret, error);
}

void lmtp_service_socket_close(struct lmtp_service_socket *socket)
{
    struct stat status;
    if (socket->path != NULL && lstat(socket->path, &status) == 0 && status.st_dev == socket->device &&
        status.st_ino == socket->inode)
        (void)unlink(socket->path);
    base_free(&socket->path);
    base_close(&socket->fd);
    base_close(&socket->lock_fd);
}
