/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_PRIVILEGE_H
#define ONCEDROP_PRIVILEGE_H

#include "base/base.h"

/* Changes root to this user for good, with the primary group only, like Postfix. Does nothing for other callers, "",
 * and unknown users. Keeps PR_SET_PDEATHSIG. reads_all: keep the right to read any file, for `replay`, which checks
 * itself what it may read. On false the process must end: the change may be incomplete. */
bool privilege_become(const char *user, bool reads_all, struct error *error) OD_MUST;

bool privilege_would_change(const char *user) OD_MUST;

/* Like privilege_become, but an unknown user is an error. */
bool privilege_must_become(const char *user, bool reads_all, struct error *error) OD_MUST;

/* Clears the environment except these (NULL-terminated), and resets PATH. A variable of libpq, SASL or GLib could send
 * our password to a server of the caller's choice. */
void privilege_clear_environment(const char *const *keep);

#endif
