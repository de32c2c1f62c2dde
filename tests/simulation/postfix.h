/* SPDX-License-Identifier: ISC
 *
 * The senders of messages: Postfix, which retries until it gets a final answer, and an operator who replays. */
#ifndef ONCEDROP_SIMULATION_POSTFIX_H
#define ONCEDROP_SIMULATION_POSTFIX_H

#include "world.h"

/* Tries to leave out (shrink.h). */
extern bool try_off[JOBS][TRIES];

/* Starts every job for the first time. */
void postfix_begin(void);

/* The current process has just died. */
void postfix_died(struct process *process);

/* Ends all processes and their resources, no matter what they are doing. */
void postfix_end(void);

#endif
