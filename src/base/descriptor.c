/* SPDX-License-Identifier: ISC
 *
 * Opens descriptors: each has the lowest free number. */
#include "base/descriptor.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

static bool fault_too_many(int error, struct fault *fault)
{
    struct rlimit limit = {0};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (error == ENFILE)
        return fault_set(fault, "the system has too many open files (fs.file-max)");
    return fault_set(fault, "too many open files: a process may have %llu (systemd's LimitNOFILE, ulimit -n)",
                     (unsigned long long)limit.rlim_cur);
}

bool descriptors_available(struct descriptors wanted, struct fault *fault)
{
    int opened[DESCRIPTORS_MOST], last = -1, error = 0;
    size_t count = 0;
    while (count < wanted.count && error == 0) {
        last = eventfd(0, EFD_CLOEXEC);
        error = last < 0 ? errno : 0;
        if (last >= 0)
            opened[count++] = last;
    }
    for (size_t i = 0; i < count; i++)
        close(opened[i]);
    if (error == EMFILE || error == ENFILE)
        return fault_too_many(error, fault);
    return last < wanted.below || fault_set(fault, "too many open files: no descriptor below %d is left", wanted.below);
}
