/* SPDX-License-Identifier: ISC
 *
 * Threads of control with stacks of their own, one at a time. Stacks are kept and used again. */
#ifndef ONCEDROP_SIMULATION_COROUTINE_H
#define ONCEDROP_SIMULATION_COROUTINE_H

#include <stdbool.h>

#include "base/base.h"

struct coroutine;

/* A new one, which begins at its first coroutine_resume. */
struct coroutine *coroutine_new(void (*body)(void *context), void *context) OD_MUST;

/* From outside: goes on with it until it suspends itself or ends; true when it has ended, and is gone. */
bool coroutine_resume(struct coroutine *coroutine) OD_MUST;

/* From inside. */
void coroutine_suspend(void);

#endif
