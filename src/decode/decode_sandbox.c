/* SPDX-License-Identifier: ISC
 *
 * A filter that denies files, sockets, other processes and executable memory. */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "decode/decode_internal.h"

/* read, write: only the socket to the parent is open. */
static const int harmless[] = {
    SCMP_SYS(read),       SCMP_SYS(write),           SCMP_SYS(brk),          SCMP_SYS(mremap),
    SCMP_SYS(munmap),     SCMP_SYS(madvise),         SCMP_SYS(futex),        SCMP_SYS(futex_time64),
    SCMP_SYS(getrandom),  SCMP_SYS(clock_gettime),   SCMP_SYS(gettimeofday), SCMP_SYS(clock_gettime64),
    SCMP_SYS(time),       SCMP_SYS(getrusage),       SCMP_SYS(getpid),       SCMP_SYS(gettid),
    SCMP_SYS(sysinfo),    SCMP_SYS(rt_sigprocmask),  SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigreturn),  SCMP_SYS(restart_syscall), SCMP_SYS(exit),         SCMP_SYS(exit_group),
    SCMP_SYS(ugetrlimit),
};

static int add_conditional(scmp_filter_ctx filter)
{
    const scmp_datum_t self = (scmp_datum_t)getpid();
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const struct {
        int call;
        unsigned count;
        struct scmp_arg_cmp arguments[3];
    } rules[] = {
        {SCMP_SYS(mmap), 1, {no_code}},
        {SCMP_SYS(mmap2), 1, {no_code}},
        {SCMP_SYS(mprotect), 1, {no_code}},
        /* CPU limit, set for each message */
        {SCMP_SYS(prlimit64), 2, {SCMP_A0(SCMP_CMP_EQ, 0, 0), SCMP_A1(SCMP_CMP_EQ, RLIMIT_CPU, 0)}},
        /* abort(3) */
        {SCMP_SYS(tgkill),
         3,
         {SCMP_A0(SCMP_CMP_EQ, self, 0), SCMP_A1(SCMP_CMP_EQ, self, 0), SCMP_A2(SCMP_CMP_EQ, SIGABRT, 0)}},
    };
    int result = 0;

    for (size_t i = 0; result == 0 && i < G_N_ELEMENTS(rules); i++)
        result = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rules[i].call, rules[i].count, rules[i].arguments);
    return result;
}

/* By prctl(2) (API level 1): systemd's filter for a service may kill a process that calls seccomp(2). */
static int install(void)
{
    scmp_filter_ctx filter = seccomp_api_set(1) == 0 ? seccomp_init(SCMP_ACT_ERRNO(EPERM)) : NULL;
    int result = filter != NULL ? 0 : -ENOMEM;

    for (size_t i = 0; result == 0 && i < G_N_ELEMENTS(harmless); i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, harmless[i], 0);
    if (result == 0)
        result = add_conditional(filter);
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1); /* kernel's errno */
    if (result == 0)
        result = seccomp_load(filter);
    if (filter != NULL)
        seccomp_release(filter);
    return -result;
}

int decode_sandbox(const struct message *message)
{
    g_mime_init();
    decode_charset_keep(message);
    return install();
}
