/* SPDX-License-Identifier: ISC
 *
 * A number in a file that several processes increase. */
#ifndef ONCEDROP_COUNTER_H
#define ONCEDROP_COUNTER_H

#include "base/base.h"

/* Adds to the number, as well as it can: at worst it stays as it was, which nobody is told. Waits a few milliseconds at most.
 * Makes the file if there is none, except as root, whose file others could not change; leaves one alone that is not such a
 * counter. */
void counter_add(const char *path, size_t count);

/* Reads the number; 0 if there is no file. False: it cannot be read, or is not such a counter. */
bool counter_read(const char *path, int64_t *ret) OD_MUST;

#endif
