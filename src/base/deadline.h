/* SPDX-License-Identifier: ISC
 *
 * The deadline: a timer signal ends the process, even in a blocking call. */
#ifndef ONCEDROP_DEADLINE_H
#define ONCEDROP_DEADLINE_H

#include <sys/types.h>

#include "base/base.h"

/* Installs the handler for SIGALRM (the deadline), SIGTERM, SIGINT, SIGHUP, SIGXCPU and SIGBUS (a mapped file was
 * truncated or is unreadable), and unblocks them. SIGHUP and SIGINT stay ignored if they were (nohup(1)); SIGPIPE is
 * ignored. The handler must be async-signal-safe (signal-safety(7)) and not return; meanwhile the other signals are
 * blocked. */
void deadline_install(void (*end)(int signal));

#define DEADLINE_BUS "a file was cut, or could not be read, while it was in use (SIGBUS)"

/* Sets a child's process group, killed before the handler runs; 0: none. Block signals from before fork(2) until
 * this returns; set 0 after waitpid(2). */
void deadline_set_group(pid_t processes);

/* Restarts the timer: the process ends in `ms` milliseconds (CLOCK_BOOTTIME). On false the caller must not go on. A
 * child of fork(2) must arm its own. */
bool deadline_arm(int64_t ms, struct error *error) OD_MUST;

/* Returns milliseconds, at least 0; INT64_MAX: not armed. */
int64_t deadline_left_ms(void) OD_MUST;

void deadline_disarm(void);

#endif
