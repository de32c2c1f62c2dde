/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_PROCESS_H
#define ONCEDROP_PROCESS_H

#include <sys/types.h>

#include "base/base.h"

/* Waits until a child ends. Returns its status (waitpid(2)); without such a child, that of a killed one. */
int process_wait(pid_t child) OD_MUST;

/* Kills a child, and waits for it; sets *child to 0. Returns its status, which is its own if it had ended. */
int process_kill(pid_t *child);

#endif
