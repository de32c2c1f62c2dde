// SPDX-License-Identifier: ISC
//
// To be preloaded into programs with a fixed user and fixed paths (ld.so(8)), which may be missing here.
//
//   PRIVATE_PATHS    what they look for in one directory is in another: "/etc/courier=/tmp/x/etc:/run/courier=/tmp/x"
//   PRIVATE_USER     the user "courier" is this one: "nobody"
//
// Only the calls that Courier and the small program make with them.

#include <dlfcn.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BYTES_MAX 512
#define NEXT(name) ((typeof(&(name)))dlsym(RTLD_NEXT, #name))

// The path to use instead, in `buffer` of BYTES_MAX bytes, or the path itself.
static const char *private_path(const char *path, char *buffer)
{
    const char *pair = getenv("PRIVATE_PATHS");
    while (path && pair && *pair) {
        size_t length = strcspn(pair, ":");
        const char *is = memchr(pair, '=', length);
        size_t old = is ? (size_t)(is - pair) : 0;
        if (is && strncmp(path, pair, old) == 0 && (path[old] == '/' || path[old] == '\0')) {
            snprintf(buffer, BYTES_MAX, "%.*s%s", (int)(length - old - 1), is + 1, path + old);
            return buffer;
        }
        pair += length + (pair[length] == ':');
    }
    return path;
}

static socklen_t private_address(const struct sockaddr *address, socklen_t size, struct sockaddr_un *other)
{
    char buffer[BYTES_MAX];
    if (!address || address->sa_family != AF_UNIX || size > sizeof *other)
        return 0;
    memset(other, 0, sizeof *other);
    memcpy(other, address, size);
    const char *path = private_path(other->sun_path, buffer);
    if (path == other->sun_path || strlen(path) >= sizeof other->sun_path)
        return 0;
    memcpy(other->sun_path, path, strlen(path) + 1);
    return sizeof *other;
}

int connect(int socket, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_un other;
    socklen_t length = private_address(address, size, &other);
    return NEXT(connect)(socket, length ? (struct sockaddr *)&other : address, length ? length : size);
}

int bind(int socket, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_un other;
    socklen_t length = private_address(address, size, &other);
    return NEXT(bind)(socket, length ? (struct sockaddr *)&other : address, length ? length : size);
}

int open(const char *path, int flags, ...)
{
    char buffer[BYTES_MAX];
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return NEXT(open)(private_path(path, buffer), flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    char buffer[BYTES_MAX];
    return NEXT(fopen)(private_path(path, buffer), mode);
}

// What programs with _FILE_OFFSET_BITS=64 call.

int open64(const char *path, int flags, ...)
{
    char buffer[BYTES_MAX];
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return NEXT(open64)(private_path(path, buffer), flags, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    char buffer[BYTES_MAX];
    return NEXT(fopen64)(private_path(path, buffer), mode);
}

int stat64(const char *path, struct stat64 *found)
{
    char buffer[BYTES_MAX];
    return NEXT(stat64)(private_path(path, buffer), found);
}

int stat(const char *path, struct stat *found)
{
    char buffer[BYTES_MAX];
    return NEXT(stat)(private_path(path, buffer), found);
}

int access(const char *path, int mode)
{
    char buffer[BYTES_MAX];
    return NEXT(access)(private_path(path, buffer), mode);
}

int chmod(const char *path, mode_t mode)
{
    char buffer[BYTES_MAX];
    return NEXT(chmod)(private_path(path, buffer), mode);
}

int unlink(const char *path)
{
    char buffer[BYTES_MAX];
    return NEXT(unlink)(private_path(path, buffer));
}

int rename(const char *old, const char *new)
{
    char old_buffer[BYTES_MAX], new_buffer[BYTES_MAX];
    return NEXT(rename)(private_path(old, old_buffer), private_path(new, new_buffer));
}

static const char *private_user(const char *name)
{
    const char *other = getenv("PRIVATE_USER");
    return other && strcmp(name, "courier") == 0 ? other : name;
}

struct passwd *getpwnam(const char *name)
{
    return NEXT(getpwnam)(private_user(name));
}

int getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
    return NEXT(getpwnam_r)(private_user(name), entry, buffer, size, found);
}

int execl(const char *path, const char *argument, ...)
{
    enum { MAX_WORDS = 32 };
    char buffer[BYTES_MAX];
    char *words[MAX_WORDS] = {(char *)(size_t)argument};
    va_list rest;
    va_start(rest, argument);
    for (int i = 1; i < MAX_WORDS - 1 && words[i - 1]; i++)
        words[i] = va_arg(rest, char *);
    va_end(rest);
    return execv(private_path(path, buffer), words);
}

// The file alteration monitor of Courier 5.0 would start a server that outlives us. So it has one that is there and
// sees nothing; Courier polls then, where it waits for a lock.
struct connection {
    int descriptor;
    void *client;
};
struct request;
struct event;

int FAMOpen(struct connection *connection);
int FAMClose(struct connection *connection);
int FAMMonitorFile(struct connection *connection, const char *name, struct request *request, void *data);
int FAMMonitorDirectory(struct connection *connection, const char *name, struct request *request, void *data);
int FAMCancelMonitor(struct connection *connection, const struct request *request);
int FAMPending(struct connection *connection);
int FAMNextEvent(struct connection *connection, struct event *event);

int FAMOpen(struct connection *connection)
{
    connection->descriptor = eventfd(0, EFD_CLOEXEC);
    return connection->descriptor < 0 ? -1 : 0;
}

int FAMClose(struct connection *connection)
{
    return close(connection->descriptor);
}

int FAMMonitorFile(struct connection *connection, const char *name, struct request *request, void *data)
{
    (void)connection, (void)name, (void)request, (void)data;
    return -1;
}

int FAMMonitorDirectory(struct connection *connection, const char *name, struct request *request, void *data)
{
    return FAMMonitorFile(connection, name, request, data);
}

int FAMCancelMonitor(struct connection *connection, const struct request *request)
{
    (void)connection, (void)request;
    return -1;
}

int FAMPending(struct connection *connection)
{
    (void)connection;
    return 0;
}

int FAMNextEvent(struct connection *connection, struct event *event)
{
    (void)connection, (void)event;
    return -1;
}
