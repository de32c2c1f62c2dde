/* SPDX-License-Identifier: ISC
 *
 * The deadline: a timer signal that ends the process. A check between calls would never be reached while a call blocks. */
#ifndef ONCEDROP_DEADLINE_H
#define ONCEDROP_DEADLINE_H

#include <sys/types.h>

#include "base/base.h"

/* Installs the handler for SIGALRM (the deadline), SIGTERM, SIGINT, SIGHUP, SIGXCPU and SIGBUS, and unblocks these signals,
 * whatever mask was inherited. The kernel sends SIGBUS if a mapped file, such as the ledger's index, was cut or cannot be read.
 * The handler gets the signal number, may call only async-signal-safe functions (signal-safety(7)), and must not return; the other signals are blocked while it runs. SIGHUP and SIGINT stay ignored
 * if they were (nohup(1)). SIGPIPE is ignored. */
void deadline_install(void (*end)(int signal));

/* The text that reports SIGBUS. */
#define DEADLINE_BUS "a file was cut, or could not be read, while it was in use (SIGBUS)"

/* Sets a process group that is killed (SIGKILL) before the handler is called: a child and its descendants, which must not
 * outlive this process. 0: none; set it after waiting for the child. Keep signals blocked from before the child is started until
 * this returns. */
void deadline_set_group(pid_t processes);

/* (Re)starts the clock: the process ends in `ms` milliseconds by CLOCK_BOOTTIME. There is no fallback: if the timer
 * cannot be set, this returns false with the fault set, and the caller must not go on. A child of fork(2) does not
 * inherit the timer and must arm its own. */
bool deadline_arm(int64_t ms, struct fault *fault) OD_MUST;

/* Milliseconds left, at least 0; INT64_MAX if not armed. */
int64_t deadline_left_ms(void) OD_MUST;

void deadline_disarm(void);

#endif
