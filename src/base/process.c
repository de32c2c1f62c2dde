/* SPDX-License-Identifier: ISC */
#include "base/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int process_wait(pid_t child)
{
    int status;
    return child > 0 && TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) == child ? status : SIGKILL;
}

int process_kill(pid_t *child)
{
    if (*child > 0)
        (void)kill(*child, SIGKILL);
    int status = process_wait(*child);
    *child = 0;
    return status;
}
