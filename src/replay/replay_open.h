/* SPDX-License-Identifier: ISC
 *
 * Opens files whose owners may replace them at any time, as by a link or a pipe. */
#ifndef ONCEDROP_REPLAY_OPEN_H
#define ONCEDROP_REPLAY_OPEN_H

#include "base/base.h"

/* Opens a file or directory, without waiting, and without symbolic links in the path. as_root: a file must belong to
 * its directory's owner, who could link to another's, or the directory to root.
 *
 * Returns the descriptor; -1 with the error and errno set: ELOOP for what is not read. */
int replay_open(const char *path, bool as_root, struct error *error) OD_MUST;

/* Copies standard input, readable only once, to an unnamed file. Returns its descriptor; -1 with the error set. */
int replay_open_input(struct error *error) OD_MUST;

#endif
