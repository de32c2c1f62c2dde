/* SPDX-License-Identifier: ISC
 *
 * To be preloaded (ld.so(8)): each fdatasync(2) takes SLOW_SYNC_US microseconds more, and adds a byte to the file
 * SLOW_SYNC_LOG. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static useconds_t us;
static char *path;

/* Before the program clears its environment. */
__attribute__((constructor)) static void read_environment(void)
{
    us = (useconds_t)atoi(getenv("SLOW_SYNC_US"));
    path = strdup(getenv("SLOW_SYNC_LOG"));
}

int fdatasync(int fd)
{
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
        (void)!write(file, "s", 1);
        close(file);
    }
    usleep(us);
    return (int)syscall(SYS_fdatasync, fd);
}
