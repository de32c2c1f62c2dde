/* SPDX-License-Identifier: ISC
 *
 * Some messages and who brings them, made from a seed and a number, and run to their end. The same two give the same
 * history, whatever was run before. */
#ifndef ONCEDROP_SIMULATION_EPISODE_H
#define ONCEDROP_SIMULATION_EPISODE_H

#include "world.h"

/* Jobs that are left out (shrink.h). */
extern bool job_off[JOBS];

/* False: something does not hold, which world.violation says. */
bool episode_run(uint64_t seed, uint64_t episode) OD_MUST;

#endif
