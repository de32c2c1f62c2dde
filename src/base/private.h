/* SPDX-License-Identifier: ISC
 *
 * Files with secrets. One that others can access is refused. */
#ifndef ONCEDROP_PRIVATE_H
#define ONCEDROP_PRIVATE_H

#include "base/base.h"

/* Returns the content of a regular file, at most `limit` bytes, as a new string; or NULL. */
char *private_read(const char *path, size_t limit, size_t *ret_size, struct fault *fault) OD_MUST;

#define PRIVATE_SECRET_LIMIT ((size_t)65536)

/* Returns the first line of content (`size` bytes and NUL), for base_free_secret. NULL: empty, or contains NUL.
 * `where` begins the error. */
char *private_first_line(const char *where, const char *content, size_t size, struct fault *fault) OD_MUST;

/* Returns a file's first line, by these rules. */
char *private_line(const char *path, struct fault *fault) OD_MUST;

#endif
