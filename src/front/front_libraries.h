/* SPDX-License-Identifier: ISC
 *
 * The libraries of the full program. If one is missing, ld.so(8) ends the process with status 127, at which Postfix returns mail,
 * before any of our code runs. */
#ifndef ONCEDROP_FRONT_LIBRARIES_H
#define ONCEDROP_FRONT_LIBRARIES_H

#include "base/base.h"

#define FRONT_LIBRARIES_MS 5000 /* for a trial */

/* Whether the program can be loaded, with this process's environment. Looks for its libraries, and theirs, where this process's
 * libc came from, which costs a few system calls. Only if one is not there, or cut short, a trial decides: the program's command
 * `version`, in a child.
 *
 * False with the fault set, which names the library and the remedy: the trial failed. True also if no trial can be made. */
bool front_libraries_suffice(const char *program, struct fault *fault) OD_MUST;

#endif
