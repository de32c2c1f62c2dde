/* SPDX-License-Identifier: ISC
 *
 * The deadline: a timer signal that ends the process. A check between calls would never be reached while a call blocks. */
#ifndef ONCEDROP_DEADLINE_H
#define ONCEDROP_DEADLINE_H

#include <sys/types.h>

#include "base/base.h"

/* Installs the handler for SIGALRM (the deadline), SIGTERM, SIGINT, SIGHUP, SIGXCPU, and SIGBUS, which the kernel sends when
 * a file was cut that is mapped, as the ledger's index is, or cannot be read; and unblocks these signals, whatever mask was
 * inherited. The handler gets the signal number, may call only async-signal-safe functions
 * (signal-safety(7)), and must not return; the other signals are blocked while it runs. SIGHUP and SIGINT stay ignored
 * if they were (nohup(1)). SIGPIPE is ignored. */
void deadline_install(void (*end)(int signal));

/* What to say of SIGBUS. */
#define DEADLINE_BUS "a file was cut, or could not be read, while it was in use (SIGBUS)"

/* Before the handler is called, this process group is killed by SIGKILL: a child and what it has started, which must not outlive
 * this process. 0: none any more, to be said when the child was waited for. To be called with signals blocked from before the
 * child is started. */
void deadline_set_group(pid_t processes);

/* (Re)starts the clock: the process ends in `ms` milliseconds by CLOCK_BOOTTIME. There is no fallback: if the timer
 * cannot be set, this returns false with the fault set, and the caller must not go on. A child of fork(2) does not
 * inherit the timer and must arm its own. */
bool deadline_arm(int64_t ms, struct fault *fault) OD_MUST;

/* Milliseconds left, at least 0; INT64_MAX if not armed. */
int64_t deadline_left_ms(void) OD_MUST;

void deadline_disarm(void);

#endif
