/* SPDX-License-Identifier: ISC
 *
 * The deadline: a timer signal that ends the process, not a check that a blocked call never reaches. */
#ifndef ONCEDROP_DEADLINE_H
#define ONCEDROP_DEADLINE_H

#include "base/base.h"

/* Installs the function that SIGALRM (deadline over), SIGTERM, SIGINT, SIGHUP and SIGXCPU run; it gets the signal
 * number, may call only async-signal-safe functions (signal-safety(7)), and must not return; the others wait meanwhile.
 * They are unblocked, whatever mask was inherited. SIGHUP and SIGINT stay ignored when they were (nohup(1)).
 * SIGPIPE is ignored. */
void deadline_install(void (*end)(int signal));

/* Starts the clock anew: in `ms` milliseconds by CLOCK_BOOTTIME the process ends. Falls back to nothing: when the
 * timer cannot be had, false and the fault set, and the caller must not go on.
 * A child of fork(2) has no timer: it arms its own. */
bool deadline_arm(int64_t ms, struct fault *fault) OD_MUST;

/* Milliseconds left, at least 0; INT64_MAX when not armed. */
int64_t deadline_left_ms(void) OD_MUST;

void deadline_disarm(void);

#endif
