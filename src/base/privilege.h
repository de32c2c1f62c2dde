/* SPDX-License-Identifier: ISC
 *
 * The user that root becomes, and the environment that libraries see. */
#ifndef ONCEDROP_PRIVILEGE_H
#define ONCEDROP_PRIVILEGE_H

#include "base/base.h"

/* Root becomes this user for good, with the user's own group only, as when Postfix runs a delivery. Does nothing for
 * other callers, for "", and if there is no such user.
 *
 * reads_all  keep the right to read any file: `replay` reads backups, and decides itself which files it may read
 *
 * Keeps the parent-death signal, if one is set (PR_SET_PDEATHSIG, prctl(2)).
 *
 * False with the fault set if the kernel refuses. The change may then be incomplete, so the process must end. */
bool privilege_become(const char *user, bool reads_all, struct fault *fault) OD_MUST;

/* Whether privilege_become would change the user of this process, and with it what it may read. */
bool privilege_would_change(const char *user) OD_MUST;

/* As privilege_become, but false with the fault set also if there is no such user. */
bool privilege_must_become(const char *user, bool reads_all, struct fault *fault) OD_MUST;

/* Clears the environment except for these names (NULL-terminated), and sets PATH to the system default: libpq, SASL and
 * GLib read dozens of variables, and one of them would send our password to a server of the caller's choice. */
void privilege_clear_environment(const char *const *keep);

#endif
