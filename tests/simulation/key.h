/* SPDX-License-Identifier: ISC
 *
 * What a delivery locks. With lock.method = row there are very few rows, so that messages share them. */
#ifndef ONCEDROP_SIMULATION_KEY_H
#define ONCEDROP_SIMULATION_KEY_H

#include <string.h>

#include "base/config.h"

#define KEY_ROWS 3

static inline uint64_t key_first_bytes(const unsigned char *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static inline uint64_t key_of_lock(enum lock_method method, const unsigned char *identity)
{
    uint64_t key = key_first_bytes(identity);
    return method == LOCK_METHOD_ROW ? key % KEY_ROWS : key;
}

#endif
