/* SPDX-License-Identifier: ISC
 *
 * Each component of a path is opened by itself, and judged by its descriptor. */
#include "replay/replay_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary.h"

#define MOST_LINKS 40 /* as in the kernel */
#define MOST_DESCRIPTORS 65536

/* Returns the first component of *path, a new string, and moves *path behind it and its slashes. */
static char *next_component(const char **path)
{
    const char *start = *path + strspn(*path, "/");
    size_t length = strcspn(start, "/");
    *path = start + length + strspn(start + length, "/");
    return length > 0 ? base_strndup(start, length) : base_strdup(".");
}

static int refuse(struct fault *fault, const char *why)
{
    fault_set(fault, "%s", why);
    errno = ELOOP;
    return -1;
}

static int failed(struct fault *fault)
{
    int error = errno;
    fault_set(fault, "%m");
    errno = error;
    return -1;
}

/* Puts what a link says before the rest of the path. False with errno set. */
static bool read_link(int link, char **path, const char *rest)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    char *whole = base_printf("%s/%s", target, rest);
    base_free(path);
    *path = whole;
    return true;
}

static int open_start(const char *path)
{
    return open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int replay_open_parent(const char *path, bool as_root, char **ret_name, struct fault *fault)
{
    char *whole OD_CLEANUP(base_free) = base_strdup(path);
    const char *rest = whole;
    int at OD_CLEANUP(base_close) = open_start(whole);
    if (whole[0] == '\0') {
        errno = ENOENT;
        return failed(fault);
    }
    for (unsigned links = 0; at >= 0;) {
        struct stat status;
        char *name OD_CLEANUP(base_free) = next_component(&rest);
        int next OD_CLEANUP(base_close) = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 || fstat(next, &status) != 0)
            return failed(fault);
        if (!S_ISLNK(status.st_mode) && rest[0] == '\0') {
            int parent = at;
            *ret_name = name;
            name = NULL;
            at = -1;
            return parent;
        }
        if (!S_ISLNK(status.st_mode)) {
            base_close(&at);
            at = next;
            next = -1;
            continue;
        }
        if (as_root && status.st_uid != 0)
            return refuse(fault,
                          "leads over another user's symbolic link, which root does not follow; give what it"
                          " leads to");
        if (++links > MOST_LINKS)
            return refuse(fault, "too many symbolic links");
        if (!read_link(next, &whole, rest))
            return failed(fault);
        rest = whole;
        if (whole[0] == '/') {
            base_close(&at);
            at = open_start(whole);
        }
    }
    return failed(fault);
}

/* Whoever may write to a directory can give it a link to another's file. */
static bool is_of_its_place(const struct stat *file, const struct stat *directory)
{
    if (directory->st_uid != 0)
        return file->st_uid == directory->st_uid;
    return (directory->st_mode & (S_IWGRP | S_IWOTH)) == 0 || file->st_nlink == 1;
}

static int open_last(int directory, const char *name, bool as_root, struct fault *fault)
{
    struct stat status, around;
    int fd OD_CLEANUP(base_close) = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return refuse(fault, "is a symbolic link");
    if (fd < 0 && errno == ENXIO)
        return refuse(fault, "is neither a file nor a directory");
    if (fd < 0 || fstat(fd, &status) != 0 || fstat(directory, &around) != 0)
        return failed(fault);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return refuse(fault, "is neither a file nor a directory");
    if (as_root && S_ISREG(status.st_mode) && !is_of_its_place(&status, &around))
        return refuse(fault,
                      "does not belong to its directory's owner, who may have put a link to another's file there:"
                      " root does not read it; copy it to a directory of root's");
    int opened = fd;
    fd = -1;
    return opened;
}

int replay_open(int directory, const char *path, bool as_root, struct fault *fault)
{
    const char *rest = path;
    int at OD_CLEANUP(base_close) = -1;
    for (;;) {
        char *name OD_CLEANUP(base_free) = next_component(&rest);
        int here = at >= 0 ? at : directory;
        if (rest[0] == '\0')
            return open_last(here, name, as_root, fault);
        int next = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return failed(fault);
        base_close(&at);
        at = next;
    }
}

int replay_open_input(struct fault *fault)
{
    char chunk[65536];
    ssize_t n;
    int fd OD_CLEANUP(base_close) = temporary_open();
    if (fd < 0) {
        temporary_fault(fault, "make a", errno);
        return -1;
    }
    while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fault_set(fault, "standard input: %m");
            return -1;
        }
        if (!temporary_write(fd, chunk, (size_t)n)) {
            temporary_fault(fault, "write the", errno);
            return -1;
        }
    }
    int opened = fd;
    fd = -1;
    return opened;
}

void replay_open_many(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= MOST_DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < MOST_DESCRIPTORS ? limit.rlim_max : MOST_DESCRIPTORS;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}
