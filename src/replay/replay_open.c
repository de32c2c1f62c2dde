/* SPDX-License-Identifier: ISC */
#include "replay/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse_file(struct error *error, int errnum, const char *why)
{
    error_set(error, "%s", why);
    errno = errnum;
    return -1;
}

/* Follows no symbolic link. */
static int open_plain(const char *path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* A user who may write to a directory can link another's file there. */
static bool belongs_there(const struct stat *file, const struct stat *directory)
{
    if (directory->st_uid != 0)
        return file->st_uid == directory->st_uid;
    return (directory->st_mode & (S_IWGRP | S_IWOTH)) == 0 || file->st_nlink == 1;
}

int replay_open(const char *path, bool as_root, struct error *error)
{
    char *above OD_CLEANUP(base_free) = base_strdup(path), *below OD_CLEANUP(base_free) = base_strdup(path);
    struct stat status, around;
    int directory OD_CLEANUP(base_close) = -1, fd OD_CLEANUP(base_close) = -1;
    errno = ENOENT;
    if (path[0] != '\0')
        directory = open_plain(dirname(above), O_PATH | O_DIRECTORY);
    if (directory >= 0)
        fd = openat(directory, basename(below), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ELOOP)
        return refuse_file(error, ELOOP,
                           "leads over a symbolic link, and none is followed here; give what realpath(1) says");
    bool opened = fd >= 0 && fstat(fd, &status) == 0 && fstat(directory, &around) == 0;
    if (!opened && errno != ENXIO)
        return refuse_file(error, errno, strerror(errno));
    if (!opened || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
        return refuse_file(error, ELOOP, "is neither a file nor a directory");
    if (as_root && S_ISREG(status.st_mode) && !belongs_there(&status, &around))
        return refuse_file(error, ELOOP,
                           "does not belong to its directory's owner, who may have put a link to another's file there:"
                           " root does not read it; copy it to a directory of root's");
    return g_steal_fd(&fd);
}

int replay_open_input(struct error *error)
{
    char chunk[65536];
    ssize_t n;
    int fd OD_CLEANUP(base_close) = tempfile_open();
    if (fd < 0)
        tempfile_error(error, "make a", errno);
    while (fd >= 0 && (n = TEMP_FAILURE_RETRY(read(STDIN_FILENO, chunk, sizeof(chunk)))) != 0) {
        if (n > 0 && base_write(fd, chunk, (size_t)n))
            continue;
        if (n < 0)
            error_set(error, "standard input: %m");
        else
            tempfile_error(error, "write the", errno);
        base_close(&fd);
    }
    return g_steal_fd(&fd);
}
