/* SPDX-License-Identifier: ISC
 *
 * Files with secrets. One that others can access is refused. */
#ifndef ONCEDROP_SECRET_FILE_H
#define ONCEDROP_SECRET_FILE_H

#include "base/base.h"

/* Returns the content of a regular file, at most `limit` bytes, as a new string; or NULL. */
char *secret_file_read(const char *path, size_t limit, size_t *ret_size, struct error *error) OD_MUST;

#define SECRET_FILE_MAX ((size_t)65536)

/* Returns the first line of content (`size` bytes and NUL), for base_free_secret. NULL: empty, or contains NUL.
 * `where` begins the error. */
char *secret_file_first_line(const char *where, const char *content, size_t size, struct error *error) OD_MUST;

/* Returns a file's first line, by these rules. */
char *secret_file_line(const char *path, struct error *error) OD_MUST;

#endif
