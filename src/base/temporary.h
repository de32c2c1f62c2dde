/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_TEMPORARY_H
#define ONCEDROP_TEMPORARY_H

#include "base/base.h"

/* Returns an unlinked file in TMPDIR (default /tmp), or -1 with errno set. Ignores SIGXFSZ: beyond a file size limit
 * write(2) fails with EFBIG. */
int temporary_open(void) OD_MUST;

/* Like temporary_open, in memory (memfd_create(2)). */
int temporary_memory(void) OD_MUST;

/* Sets the error, with a hint; returns false. what: "make a", "write the"; error: errno. */
bool temporary_fault(struct fault *fault, const char *what, int error);

#endif
