/* SPDX-License-Identifier: ISC
 *
 * Virtual time: the earliest event is next. Only waiting takes time, so other processes can intervene at each wait, and
 * nowhere else. */
#ifndef ONCEDROP_SIMULATION_SCHEDULER_H
#define ONCEDROP_SIMULATION_SCHEDULER_H

#include "world.h"

extern int64_t now;

/* Calls happen(what, tag) at that time. */
void schedule(int64_t at, void (*happen)(void *what, uint32_t tag), void *what, uint32_t tag);

/* Runs until nothing is left, a check fails, or `until`. False: the time was reached. */
bool schedule_run(int64_t until) OD_MUST;
void schedule_clear(void);

/* The current process. */

/* Waits. False: it has died, then or before. */
bool process_sleep(int64_t us) OD_MUST;

/* Is stopped: its deadline kills it only when it continues. */
bool process_stop(int64_t us) OD_MUST;

/* Waits until process_wake, or for ever. */
bool process_wait(void) OD_MUST;

/* Dies here. */
void process_die(const char *why);

/* Others. */
void process_wake(struct process *process);
void process_kill(struct process *process, const char *why);

/* The process continues, or begins. */
void process_run(struct process *process);

#endif
