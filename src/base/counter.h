/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_COUNTER_H
#define ONCEDROP_COUNTER_H

#include "base/base.h"

/* Adds to a counter in a file shared by processes. Best effort: waits some milliseconds, reports no failure. Creates
 * the file, except as root, whose file others could not write. Never changes a file that is no counter. */
void counter_add(const char *path, size_t count);

/* Reads the counter; 0 without a file. Returns false if it is unreadable, or no counter. */
bool counter_read(const char *path, int64_t *ret) OD_MUST;

#endif
