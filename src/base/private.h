/* SPDX-License-Identifier: ISC
 *
 * Files with secrets in them: configuration, passwords. One that others can access is refused. */
#ifndef ONCEDROP_PRIVATE_H
#define ONCEDROP_PRIVATE_H

#include "base/base.h"

/* Reads a whole regular file of at most `limit` bytes: a new string of *ret_size bytes, or NULL with the fault set. */
char *private_read(const char *path, size_t limit, size_t *ret_size, struct fault *fault) OD_MUST;

/* Its first line, a new string for base_free_secret, or NULL with the fault set: also if that line is empty. */
char *private_line(const char *path, struct fault *fault) OD_MUST;

#endif
