/* SPDX-License-Identifier: ISC
 *
 * Threads of control with their own stacks, one running at a time. Stacks are kept and reused. */
#ifndef ONCEDROP_SIMULATION_COROUTINE_H
#define ONCEDROP_SIMULATION_COROUTINE_H

#include <stdbool.h>

#include "base/base.h"

struct coroutine;

/* A new one, which starts at its first coroutine_resume. */
struct coroutine *coroutine_new(void (*body)(void *context), void *context) OD_MUST;

/* From outside: runs it until it suspends itself or ends; true if it has ended and was freed. */
bool coroutine_resume(struct coroutine *coroutine) OD_MUST;

/* From inside. */
void coroutine_suspend(void);

#endif
