/* SPDX-License-Identifier: ISC
 *
 * Unlinked temporary files for messages that are too large for memory. */
#ifndef ONCEDROP_TEMPORARY_H
#define ONCEDROP_TEMPORARY_H

#include "base/base.h"

/* A new unlinked file in TMPDIR (default /tmp), close-on-exec, or -1 with errno set. From then on SIGXFSZ is ignored:
 * beyond a file size limit a write fails with EFBIG. */
int temporary_open(void) OD_MUST;

/* The same in memory (memfd_create(2)). */
int temporary_memory(void) OD_MUST;

/* Sets the fault, with the remedy if there is one. what: "make a", "write the"; error: of errno. Always false. */
bool temporary_fault(struct fault *fault, const char *what, int error);

#endif
