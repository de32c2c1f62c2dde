/* SPDX-License-Identifier: ISC
 *
 * Confines a set-group-ID installation, so that its group serves deliveries and nothing else. It is for Postfix's
 * mailbox_command, which runs as the recipient: the caller controls arguments, environment, descriptors, limits and
 * signals. */
#ifndef ONCEDROP_PRIVILEGE_H
#define ONCEDROP_PRIVILEGE_H

#include "base/base.h"

/* Drops the group of a set-group-ID program for good; does nothing if there is none. False if the kernel refuses. */
bool privilege_drop(void) OD_MUST;

/* Root becomes this user for good, with the user's own group only, as when Postfix runs a delivery. Does nothing for
 * other callers, for "", and if there is no such user.
 *
 * reads_all  keep the right to read any file: `replay` reads backups, and decides itself which files it may read
 *
 * False with the fault set if the kernel refuses. The change may then be incomplete, so the process must end. */
bool privilege_become(const char *user, bool reads_all, struct fault *fault) OD_MUST;

/* Clears the environment except for these names (NULL-terminated), and sets PATH to the system default: libpq, SASL and
 * GLib read dozens of variables, and one of them would send our password to a server of the caller's choice. Under
 * set-group-ID, HOME is set to a directory that does not exist: the files there would be the caller's. */
void privilege_clear_environment(const char *const *keep);

/* The login name of the real user if the program runs set-group-ID for somebody other than root: only that user's own
 * account may then be delivered to. Returns a new string; NULL if there is no such restriction; "" if the user has no
 * name. */
char *privilege_only_login(void) OD_MUST;

#endif
