/* SPDX-License-Identifier: ISC
 *
 * One line of fixed length: rewriting needs no disk space, and a crash leaves the old number or the new one. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS 18
#define LINE (DIGITS + 1)
#define TRIES 5 /* to lock, 1 ms apart */

/* An empty file is new. */
static bool read_line(int fd, int64_t *ret)
{
    char line[LINE + 2] = "";
    ssize_t size = pread(fd, line, LINE + 1, 0);
    if (size != 0 && (size != LINE || strspn(line, "0123456789") != DIGITS || line[DIGITS] != '\n'))
        return false;
    *ret = size != 0 ? strtoll(line, NULL, 10) : 0;
    return true;
}

/* Locks until close(2). */
static bool lock(int fd)
{
    struct flock complete = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < TRIES; i++) {
        if (fcntl(fd, F_OFD_SETLK, &complete) == 0)
            return true;
        if (errno != EAGAIN && errno != EACCES)
            return false;
        (void)poll(NULL, 0, 1);
    }
    return false;
}

void counter_add(const char *path, size_t count)
{
    const int make = geteuid() != 0 ? O_CREAT : 0;
    char line[LINE + 1];
    int64_t number;
    int fd OD_CLEANUP(base_close) = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | make, 0640);
    if (fd < 0 || !lock(fd) || !read_line(fd, &number))
        return;
    if (number == 0) /* despite umask: the group reads it */
        (void)fchmod(fd, 0640);
    int length = snprintf(line, sizeof(line), "%0*lld\n", DIGITS, (long long)number + (long long)count);
    if (length == LINE)
        (void)!pwrite(fd, line, LINE, 0);
}

bool counter_read(const char *path, int64_t *ret)
{
    int fd OD_CLEANUP(base_close) = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0)
        return read_line(fd, ret);
    if (errno == ENOENT)
        *ret = 0;
    return errno == ENOENT;
}
