/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_TEMPFILE_H
#define ONCEDROP_TEMPFILE_H

#include "base/base.h"

/* Returns an unlinked file in TMPDIR (default /tmp), or -1 with errno set. Ignores SIGXFSZ: beyond a file size limit
 * write(2) fails with EFBIG. */
int tempfile_open(void) OD_MUST;

/* Like tempfile_open, in memory (memfd_create(2)). */
int tempfile_memory(void) OD_MUST;

/* Sets the error, with a hint; returns false. what: "make a", "write the"; error: errno. */
bool tempfile_error(struct error *error, const char *what, int errnum);

#endif
