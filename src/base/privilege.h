/* SPDX-License-Identifier: ISC
 *
 * What a set-group-ID installation must do so that its group serves a delivery and nothing else (for Postfix
 * mailbox_command, which runs as the recipient): whoever calls it controls arguments, environment, descriptors,
 * limits and signals. */
#ifndef ONCEDROP_PRIVILEGE_H
#define ONCEDROP_PRIVILEGE_H

#include "base/base.h"

/* Gives the group of a set-group-ID program up for good; nothing to do without one. False when the kernel refuses. */
bool privilege_drop(void) OD_MUST;

/* Root only: becomes this user for good, with the user's own group and no other, as Postfix runs a delivery. Nothing to do
 * for another caller, for "", and when there is no such user: what root may not do then is said where it fails.
 *
 * reads_all  files that root can read are still readable: for `replay`, whose files may be a backup's
 *
 * False with the fault set when the kernel refuses: the process is of no use then, for it may have become half of it. */
bool privilege_become(const char *user, bool reads_all, struct fault *fault) OD_MUST;

/* Clears the environment but for these names (NULL-terminated), and sets PATH to the system's: libpq, SASL and GLib read
 * dozens of variables, and one of them would send our password to a server of the caller's choice. Set-group-ID, HOME
 * leads nowhere: the files there are the caller's. */
void privilege_clear_environment(const char *const *keep);

/* Login name of the real user when the program runs set-group-ID for somebody else than root: then only this user's own
 * account may be delivered to. A new string; NULL when there is no such limit; "" when the user has no name. */
char *privilege_only_login(void) OD_MUST;

#endif
