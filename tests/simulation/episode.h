/* SPDX-License-Identifier: ISC
 *
 * Some messages and their jobs, generated from a seed and a number, and run to their end. The same two numbers give the
 * same history, regardless of what was run before. */
#ifndef ONCEDROP_SIMULATION_EPISODE_H
#define ONCEDROP_SIMULATION_EPISODE_H

#include "world.h"

/* Jobs to leave out (shrink.h). */
extern bool job_off[JOBS];
/* The lock method of every episode; LOCK_METHODS: each draws its own. Everything else is drawn the same either way. */
extern enum lock_method episode_method;

/* False: a check failed, see world.violation. */
bool episode_run(uint64_t seed, uint64_t episode) OD_MUST;

#endif
