/* SPDX-License-Identifier: ISC
 *
 * Who brings messages: Postfix, which comes again until it is told that it is done, and an operator who replays. */
#ifndef ONCEDROP_SIMULATION_POSTFIX_H
#define ONCEDROP_SIMULATION_POSTFIX_H

#include "world.h"

/* Tries that are left out (shrink.h). */
extern bool try_off[JOBS][TRIES];

/* Brings every job for the first time. */
void postfix_begin(void);

/* The current process has just died. */
void postfix_died(struct process *process);

/* Ends all processes and what is kept, whatever they are at. */
void postfix_end(void);

#endif
