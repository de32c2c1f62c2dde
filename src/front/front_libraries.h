/* SPDX-License-Identifier: ISC
 *
 * Checks the full program's libraries: without one, ld.so(8) exits with 127, and Postfix bounces. */
#ifndef ONCEDROP_FRONT_LIBRARIES_H
#define ONCEDROP_FRONT_LIBRARIES_H

#include "base/base.h"

#define FRONT_LIBRARIES_MS 5000 /* of a trial */

/* Returns true if the program can be loaded, or no trial is possible. Looks for its libraries, and theirs, where our
 * libc is. If one is missing or truncated, tries the command `version` in a child. The error has library and hint. */
bool front_libraries_suffice(const char *program, struct error *error) OD_MUST;

#endif
