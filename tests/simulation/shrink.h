/* SPDX-License-Identifier: ISC
 *
 * Reduces a failed episode to as few jobs and faults as possible, and prints it step by step. */
#ifndef ONCEDROP_SIMULATION_SHRINK_H
#define ONCEDROP_SIMULATION_SHRINK_H

#include "world.h"

void shrink_and_tell(uint64_t seed, uint64_t episode);

#endif
