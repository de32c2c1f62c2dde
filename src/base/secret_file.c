/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks the descriptor: the path may lead elsewhere by now. */
static bool check_secret_file(const char *path, int fd, struct error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_set(error, "%s: %m", path);
    if (!S_ISREG(status.st_mode))
        return error_set(error, "%s: not a regular file", path);
    if (status.st_mode & S_IRWXO)
        return error_set(error, "%s: accessible to others (mode %04o); run: chmod o-rwx %s", path,
                         (unsigned)(status.st_mode & 07777), path);
    return true;
}

/* Adds to the error who we are and who may read. */
static void name_readers(const char *path, struct error *error)
{
    struct stat status;
    const struct passwd *user = getpwuid(geteuid());
    if (user != NULL)
        error_set(error, "%s for the user %s", error->text, user->pw_name);
    else
        error_set(error, "%s for the user %u", error->text, (unsigned)geteuid());
    const struct group *group = stat(path, &status) == 0 && (status.st_mode & S_IRGRP) ? getgrgid(status.st_gid) : NULL;
    if (group != NULL)
        error_set(error, "%s; root and the group %s may read it", error->text, group->gr_name);
}

char *secret_file_read(const char *path, size_t limit, size_t *ret_size, struct error *error)
{
    /* O_NONBLOCK: a FIFO must not block before it is refused. */
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got;
    if (fd < 0) {
        bool refused = errno == EACCES;
        error_set(error, "%s: cannot be opened: %m", path);
        if (refused)
            name_readers(path, error);
        return NULL;
    }
    if (!check_secret_file(path, fd, error))
        return NULL;
    char *content OD_CLEANUP(base_free_secret) = base_alloc(limit + 2);
    *ret_size = 0;
    while ((got = TEMP_FAILURE_RETRY(read(fd, content + *ret_size, limit + 1 - *ret_size))) > 0)
        *ret_size += (size_t)got;
    if (got < 0)
        error_set(error, "%s: cannot be read: %m", path);
    else if (*ret_size > limit)
        error_set(error, "%s: longer than %zu bytes", path, limit);
    else
        return g_steal_pointer(&content);
    return NULL;
}

char *secret_file_first_line(const char *where, const char *content, size_t size, struct error *error)
{
    size_t length = strcspn(content, "\n");
    bool complete = length == size || content[length] == '\n';
    while (length > 0 && content[length - 1] == '\r')
        length--;
    if (complete && length > 0)
        return base_strndup(content, length);
    error_set(error, "%s: the first line %s", where, complete ? "is empty" : "contains a NUL byte");
    return NULL;
}

char *secret_file_line(const char *path, struct error *error)
{
    size_t size;
    char *content OD_CLEANUP(base_free_secret) = secret_file_read(path, SECRET_FILE_MAX, &size, error);
    return content != NULL ? secret_file_first_line(path, content, size, error) : NULL;
}
