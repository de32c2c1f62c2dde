/* SPDX-License-Identifier: ISC
 *
 * Files with secrets in them: configuration, passwords. One that others can access is refused. */
#ifndef ONCEDROP_PRIVATE_H
#define ONCEDROP_PRIVATE_H

#include "base/base.h"

/* Reads a whole regular file of at most `limit` bytes: a new string of *ret_size bytes, or NULL with the fault set. */
char *private_read(const char *path, size_t limit, size_t *ret_size, struct fault *fault) OD_MUST;

#define PRIVATE_SECRET_LIMIT ((size_t)65536) /* bytes that may hold a secret */

/* The first line of content, which has `size` bytes and a NUL behind them: a new string for base_free_secret. NULL with the
 * fault set, which begins with `where`: it is empty, or has a NUL in it. */
char *private_first_line(const char *where, const char *content, size_t size, struct fault *fault) OD_MUST;

/* The first line of a file, by the rules of both. */
char *private_line(const char *path, struct fault *fault) OD_MUST;

#endif
