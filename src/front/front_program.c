/* SPDX-License-Identifier: ISC
 *
 * Where the full program is, and what to say if it is not there. */
#include "front/front_program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/output.h"

#define NAME "oncedrop-main"
#define INSTALLED LIBEXECDIR "/oncedrop/" NAME

/* In the directory of this program. Returns only on failure. */
static void execute_below(const char *below, char **argv)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    if (slash == NULL || (size_t)(slash + 1 - path) + strlen(below) >= sizeof(path))
        return;
    strcpy(slash + 1, below);
    execv(path, argv);
}

/* The LMTP client reads a greeting; Postfix a status, and a line that begins with a code. */
static const char *beginning(char **argv)
{
    bool lmtp = argv[0] != NULL && argv[1] != NULL && strcmp(argv[1], "lmtp") == 0;
    return lmtp ? "421 4.3.5" : "4.3.5";
}

int front_program_execute(char **argv)
{
    execute_below(NAME, argv);
    execute_below("../libexec/oncedrop/" NAME, argv);
    execv(INSTALLED, argv);
    const char *reason = strerror(errno);
    char *line OD_CLEANUP(base_free) = base_printf("cannot execute %s: %s", INSTALLED, reason);
    if (output_is_typed()) {
        fprintf(stderr, "oncedrop: %s\n", line);
        return EX_UNAVAILABLE;
    }
    char *answer OD_CLEANUP(base_free) = base_printf("%s %s\r\n", beginning(argv), line);
    size_t length = strlen(answer);
    if (answer[0] == '4' && answer[1] == '.') {
        answer[length - 2] = '\n';
        length--;
    }
    output_give(answer, length, EX_TEMPFAIL);
    return EX_TEMPFAIL;
}
