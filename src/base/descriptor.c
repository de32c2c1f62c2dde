/* SPDX-License-Identifier: ISC
 *
 * Opens descriptors: each has the lowest free number. */
#include "base/base.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

static bool error_too_many(int errnum, struct error *error)
{
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (errnum == ENFILE)
        return error_set(error, "the system has too many open files (fs.file-max)");
    return error_set(error, "too many open files: a process may have %llu (systemd's LimitNOFILE, ulimit -n)",
                     (unsigned long long)limit.rlim_cur);
}

bool descriptors_available(struct descriptors wanted, struct error *error)
{
    int opened[DESCRIPTORS_MAX], last = -1, errnum = 0;
    size_t count = 0;
    while (count < wanted.count && errnum == 0) {
        last = eventfd(0, EFD_CLOEXEC);
        errnum = last < 0 ? errno : 0;
        if (last >= 0)
            opened[count++] = last;
    }
    for (size_t i = 0; i < count; i++)
        close(opened[i]);
    if (errnum == EMFILE || errnum == ENFILE)
        return error_too_many(errnum, error);
    return last < wanted.below || error_set(error, "too many open files: no descriptor below %d is left", wanted.below);
}
