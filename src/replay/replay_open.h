/* SPDX-License-Identifier: ISC
 *
 * Opens files that belong to others, who may exchange them for something else at any time: for a link to a file that only
 * root can read, for a pipe that nobody writes to. */
#ifndef ONCEDROP_REPLAY_OPEN_H
#define ONCEDROP_REPLAY_OPEN_H

#include "base/base.h"

/* Follows a path of the command line, its symbolic links included, up to the directory of what it leads to. Root follows
 * only links that root has made.
 *
 * *ret_name   new string: the name in that directory
 *
 * Returns the directory's descriptor, for replay_open only; -1 with the fault set. */
int replay_open_parent(const char *path, bool as_root, char **ret_name, struct fault *fault) OD_MUST;

/* Opens a file or directory below a directory. No symbolic link is followed, and nothing waits.
 *
 * as_root   a file must belong to its directory's owner, who could give a link to any other, or the directory to root
 *
 * Returns the descriptor; -1 with the fault and errno set: ELOOP if it is something that is not read. */
int replay_open(int directory, const char *path, bool as_root, struct fault *fault) OD_MUST;

/* Standard input can be read only once, and by one process: copies it to an unnamed file. Returns its descriptor; -1 with
 * the fault set. */
int replay_open_input(struct fault *fault) OD_MUST;

/* Raises the limit of open files: each path of the command line may take one. */
void replay_open_many(void);

#endif
