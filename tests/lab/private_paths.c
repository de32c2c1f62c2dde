// SPDX-License-Identifier: ISC
//
// To be preloaded into programs with fixed paths (ld.so(8)): what they look for in one directory is in another.
//
//   PRIVATE_PATHS    "/etc/courier=/tmp/x/etc:/run/courier=/tmp/x/run"
//
// Only the calls that Courier makes with such paths.

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST 512
#define NEXT(name) ((typeof(&(name)))dlsym(RTLD_NEXT, #name))

// The path to use instead, in `buffer` of MOST bytes, or the path itself.
static const char *private_path(const char *path, char *buffer)
{
    const char *pair = getenv("PRIVATE_PATHS");
    while (path && pair && *pair) {
        size_t length = strcspn(pair, ":");
        const char *is = memchr(pair, '=', length);
        size_t old = is ? (size_t)(is - pair) : 0;
        if (is && strncmp(path, pair, old) == 0 && (path[old] == '/' || path[old] == '\0')) {
            snprintf(buffer, MOST, "%.*s%s", (int)(length - old - 1), is + 1, path + old);
            return buffer;
        }
        pair += length + (pair[length] == ':');
    }
    return path;
}

static socklen_t private_address(const struct sockaddr *address, socklen_t size, struct sockaddr_un *other)
{
    char buffer[MOST];
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
    char buffer[MOST];
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return NEXT(open)(private_path(path, buffer), flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    char buffer[MOST];
    return NEXT(fopen)(private_path(path, buffer), mode);
}

int access(const char *path, int mode)
{
    char buffer[MOST];
    return NEXT(access)(private_path(path, buffer), mode);
}

int chmod(const char *path, mode_t mode)
{
    char buffer[MOST];
    return NEXT(chmod)(private_path(path, buffer), mode);
}

int unlink(const char *path)
{
    char buffer[MOST];
    return NEXT(unlink)(private_path(path, buffer));
}

int rename(const char *old, const char *new)
{
    char old_buffer[MOST], new_buffer[MOST];
    return NEXT(rename)(private_path(old, old_buffer), private_path(new, new_buffer));
}

// As authpipe calls it: with its own name alone.
int execl(const char *path, const char *argument, ...)
{
    enum { MOST_WORDS = 32 };
    char buffer[MOST];
    char *words[MOST_WORDS] = {(char *)(size_t)argument};
    va_list rest;
    va_start(rest, argument);
    for (int i = 1; i < MOST_WORDS - 1 && words[i - 1]; i++)
        words[i] = va_arg(rest, char *);
    va_end(rest);
    return execv(private_path(path, buffer), words);
}

// The file alteration monitor of Courier 5.0 would start a server that outlives us; without one, each session waits for two
// seconds in vain. Courier then polls.
int FAMOpen2(void *connection, const char *name);
int FAMOpen2(void *connection, const char *name)
{
    (void)connection;
    (void)name;
    return -1;
}

int FAMOpen(void *connection);
int FAMOpen(void *connection)
{
    return FAMOpen2(connection, NULL);
}
