/* SPDX-License-Identifier: ISC */
#include "front/front_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct front_program *program;

/* Libraries find an executable's functions before libc's (ld.so(8)); those of what it loads they find after. While the
 * program is loaded, a library's constructor gets none. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the libc's names are reserved ones */
iconv_t iconv_open(const char *to, const char *from)
{
    if (program != NULL)
        return program->iconv_open(to, from);
    errno = EINVAL;
    return (iconv_t)-1;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the libc's names are reserved ones */
size_t iconv(iconv_t converter, char **in, size_t *left, char **out, size_t *room)
{
    return program->iconv(converter, in, left, out, room);
}

static sigjmp_buf before_loading;
static uintptr_t cut_at;

static void leave_loading(int signal, siginfo_t *info, void *context)
{
    (void)context;
    cut_at = (uintptr_t)info->si_addr;
    siglongjmp(before_loading, signal);
}

/* Reports the mapped file (proc_pid_maps(5)) in which this address is behind the end. Returns false. */
static bool refuse_cut_file(uintptr_t address, struct error *error)
{
    char line[PATH_MAX + 128], path[PATH_MAX] = "a library";
    uintptr_t start, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2 && address >= start && address < end &&
            strchr(line, '/') != NULL)
            snprintf(path, sizeof(path), "%.*s", (int)strcspn(strchr(line, '/'), "\n"), strchr(line, '/'));
    if (maps != NULL)
        (void)fclose(maps);
    return error_set(error, "cannot load the program: %s is cut short; install its package again", path);
}

bool front_program_load(const struct front_program **ret, struct error *error)
{
    struct sigaction leave = {.sa_sigaction = leave_loading, .sa_flags = SA_SIGINFO}, before;
    if (sigsetjmp(before_loading, 1) != 0)
        return refuse_cut_file(cut_at, error);
    (void)sigaction(SIGBUS, &leave, &before);
    program = module_load(MODULE_PROGRAM, error);
    (void)sigaction(SIGBUS, &before, NULL);
    *ret = program;
    return program != NULL;
}
