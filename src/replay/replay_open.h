/* SPDX-License-Identifier: ISC
 *
 * Opens files that belong to others, who may exchange them for something else at any time: for a link to a file that only
 * root can read, for a pipe that nobody writes to. */
#ifndef ONCEDROP_REPLAY_OPEN_H
#define ONCEDROP_REPLAY_OPEN_H

#include "base/base.h"

/* Opens a file or directory. No symbolic link is followed, nowhere in the path, and nothing waits.
 *
 * as_root   a file must belong to its directory's owner, who could give a link to any other, or the directory to root
 *
 * Returns the descriptor; -1 with the fault and errno set: ELOOP if it is something that is not read. */
int replay_open(const char *path, bool as_root, struct fault *fault) OD_MUST;

/* Standard input can be read only once, and by one process: copies it to an unnamed file. Returns its descriptor; -1 with
 * the fault set. */
int replay_open_input(struct fault *fault) OD_MUST;

#endif
