/* SPDX-License-Identifier: ISC */
#include "base/private.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Checks the descriptor: the path may lead elsewhere by now. */
static bool check_private(const char *path, int fd, struct fault *fault)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return fault_set(fault, "%s: %m", path);
    if (!S_ISREG(status.st_mode))
        return fault_set(fault, "%s: not a regular file", path);
    if (status.st_mode & S_IRWXO)
        return fault_set(fault, "%s: accessible to others (mode %04o); remedy: chmod o-rwx %s", path,
                         (unsigned)(status.st_mode & 07777), path);
    return true;
}

/* Adds to the error who we are and who may read. */
static void name_readers(const char *path, struct fault *fault)
{
    struct stat status;
    const struct passwd *user = getpwuid(geteuid());
    if (user != NULL)
        fault_set(fault, "%s for the user %s", fault->text, user->pw_name);
    else
        fault_set(fault, "%s for the user %u", fault->text, (unsigned)geteuid());
    const struct group *group = stat(path, &status) == 0 && (status.st_mode & S_IRGRP) ? getgrgid(status.st_gid) : NULL;
    if (group != NULL)
        fault_set(fault, "%s; root and the group %s may read it", fault->text, group->gr_name);
}

char *private_read(const char *path, size_t limit, size_t *ret_size, struct fault *fault)
{
    /* O_NONBLOCK: a FIFO must not block before it is refused. */
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got;
    if (fd < 0) {
        bool refused = errno == EACCES;
        fault_set(fault, "%s: cannot be opened: %m", path);
        if (refused)
            name_readers(path, fault);
        return NULL;
    }
    if (!check_private(path, fd, fault))
        return NULL;
    char *content OD_CLEANUP(base_free_secret) = base_alloc(limit + 2);
    *ret_size = 0;
    while ((got = TEMP_FAILURE_RETRY(read(fd, content + *ret_size, limit + 1 - *ret_size))) > 0)
        *ret_size += (size_t)got;
    if (got < 0)
        fault_set(fault, "%s: cannot be read: %m", path);
    else if (*ret_size > limit)
        fault_set(fault, "%s: longer than %zu bytes", path, limit);
    else
        return g_steal_pointer(&content);
    return NULL;
}

char *private_first_line(const char *where, const char *content, size_t size, struct fault *fault)
{
    size_t length = strcspn(content, "\n");
    bool whole = length == size || content[length] == '\n';
    while (length > 0 && content[length - 1] == '\r')
        length--;
    if (whole && length > 0)
        return base_strndup(content, length);
    fault_set(fault, "%s: the first line %s", where, whole ? "is empty" : "contains a NUL byte");
    return NULL;
}

char *private_line(const char *path, struct fault *fault)
{
    size_t size;
    char *content OD_CLEANUP(base_free_secret) = private_read(path, PRIVATE_SECRET_LIMIT, &size, fault);
    return content != NULL ? private_first_line(path, content, size, fault) : NULL;
}
