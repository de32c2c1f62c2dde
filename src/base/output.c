/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

static volatile sig_atomic_t given;
static volatile sig_atomic_t status = EX_TEMPFAIL; /* of the reply */
static int output_fd = STDOUT_FILENO;

static bool same_pipe(int a, int b)
{
    struct stat first, second;
    if (fstat(a, &first) != 0 || fstat(b, &second) != 0)
        return false;
    bool is_pipe = S_ISFIFO(first.st_mode) || S_ISSOCK(first.st_mode);
    return is_pipe && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int output_open(void)
{
    int log_fd = -1;
    output_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (!same_pipe(STDOUT_FILENO, STDERR_FILENO))
        log_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (null > STDERR_FILENO)
            close(null);
    }
    return log_fd;
}

void output_write_reply(const char *line, size_t length, int exit_status)
{
    if (given)
        return;
    status = exit_status;
    given = 1;
    int saved = errno;
    bool written = base_write(output_fd, line, length);
    (void)written; /* if not, the exit status suffices */
    errno = saved;
}

void output_exit(const char *line, size_t length)
{
    output_write_reply(line, length, EX_TEMPFAIL);
    _exit(status);
}

bool output_is_typed(void)
{
    return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

int output_pipe(void)
{
    struct stat output_status;
    return fstat(output_fd, &output_status) == 0 && S_ISFIFO(output_status.st_mode) ? output_fd : -1;
}

bool output_peer_closed(void)
{
    struct pollfd output = {.fd = output_pipe(), .events = 0};
    if (output.fd < 0)
        return false;
    int ready = poll(&output, 1, 0);
    return ready < 0 || (ready == 1 && (output.revents & POLLERR) != 0); /* an error counts as closed */
}
