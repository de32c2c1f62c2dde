/* SPDX-License-Identifier: ISC
 *
 * The descriptor for the answer, which is written only once even if a signal arrives. */
#include "delivery/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

static volatile sig_atomic_t given;
static volatile sig_atomic_t status = EX_TEMPFAIL; /* the exit status that belongs to the answer */
static int answer_fd = STDOUT_FILENO;

static bool same_pipe(int a, int b)
{
    struct stat first, second;
    if (fstat(a, &first) != 0 || fstat(b, &second) != 0)
        return false;
    bool is_pipe = S_ISFIFO(first.st_mode) || S_ISSOCK(first.st_mode);
    return is_pipe && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int answer_open(void)
{
    int log_fd = -1;
    answer_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
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

static void give(const char *line, size_t length, int exit_status)
{
    if (given)
        return;
    status = exit_status;
    given = 1;
    int saved = errno;
    while (length > 0) { /* if the reader is gone, or the pipe full, the exit status suffices */
        ssize_t n = write(answer_fd, line, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        line += n;
        length -= (size_t)n;
    }
    errno = saved;
}

void answer_give(const struct report *report)
{
    char line[1024];
    report_line(report, line, sizeof(line) - 1);
    size_t length = strlen(line);
    line[length++] = '\n';
    give(line, length, outcome_row(report->outcome)->exit_status);
}

void answer_exit(const char *line, size_t length)
{
    give(line, length, EX_TEMPFAIL);
    _exit(status);
}

bool answer_reader_gone(void)
{
    struct stat output_status;
    struct pollfd output = {.fd = answer_fd, .events = 0};
    if (fstat(answer_fd, &output_status) != 0 || !S_ISFIFO(output_status.st_mode))
        return false;
    int ready = poll(&output, 1, 0);
    return ready < 0 || (ready == 1 && (output.revents & POLLERR) != 0); /* an error counts as gone */
}
