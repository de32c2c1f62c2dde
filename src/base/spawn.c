/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int spawn_command(char **words, char **environment, struct spawn_channels channels, pid_t *ret_child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, channels.in, STDIN_FILENO);
    if (channels.out >= 0)
        posix_spawn_file_actions_adddup2(&actions, channels.out, STDOUT_FILENO);
    if (channels.err >= 0)
        posix_spawn_file_actions_adddup2(&actions, channels.err, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1); /* not all libraries close theirs */
    posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                  (channels.group ? POSIX_SPAWN_SETPGROUP : 0)));
    posix_spawnattr_setsigdefault(&attributes, &all); /* else SIGPIPE stays ignored */
    posix_spawnattr_setsigmask(&attributes, &none);
    struct rlimit ours = {0};
    bool limited = getrlimit(RLIMIT_DATA, &ours) == 0;
    if (limited) /* delivery.memory does not apply to the command */
        (void)setrlimit(RLIMIT_DATA, &(struct rlimit){ours.rlim_max, ours.rlim_max});
    int errnum = posix_spawnp(ret_child, words[0], &actions, &attributes, words, environment);
    if (limited)
        (void)setrlimit(RLIMIT_DATA, &ours);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return errnum;
}

bool spawn_end_with(pid_t parent, int signal)
{
    return prctl(PR_SET_PDEATHSIG, signal) == 0 && getppid() == parent; /* in this order, none is missed */
}
