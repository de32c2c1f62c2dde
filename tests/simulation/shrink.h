/* SPDX-License-Identifier: ISC
 *
 * A failed episode with as few jobs and faults as it still fails with, told step by step. */
#ifndef ONCEDROP_SIMULATION_SHRINK_H
#define ONCEDROP_SIMULATION_SHRINK_H

#include "world.h"

void shrink_and_tell(uint64_t seed, uint64_t episode);

#endif
