/* SPDX-License-Identifier: ISC
 *
 * Reproducible randomness. Each user has separate dice, seeded with the names of what they are drawn for: if one draws
 * less, another's numbers do not change, so a history stays the same while it is shrunk. */
#ifndef ONCEDROP_SIMULATION_DICE_H
#define ONCEDROP_SIMULATION_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

/* splitmix64 */
static inline uint64_t dice_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline struct dice dice_of(uint64_t seed, uint64_t a, uint64_t b)
{
    return (struct dice){dice_mix(dice_mix(dice_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + a) + b)};
}

static inline uint64_t dice_next(struct dice *dice)
{
    return dice_mix(dice->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* From 0 to count - 1. */
static inline int64_t dice_below(struct dice *dice, int64_t count)
{
    return (int64_t)(((__uint128_t)dice_next(dice) * (uint64_t)count) >> 64);
}

static inline int64_t dice_between(struct dice *dice, int64_t least, int64_t max)
{
    return least + dice_below(dice, max - least + 1);
}

static inline bool dice_percent(struct dice *dice, int percent)
{
    return dice_below(dice, 100) < percent;
}

#endif
