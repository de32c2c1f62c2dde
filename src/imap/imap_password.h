/* SPDX-License-Identifier: ISC
 *
 * The password of a login, or its bearer token: from imap.password_file, or from imap.password_command. What the command
 * has answered is kept in memory for as long as the server accepts it. */
#ifndef ONCEDROP_IMAP_PASSWORD_H
#define ONCEDROP_IMAP_PASSWORD_H

#include "base/config.h"

/* The password as it was last read or answered; the command is run if it was not asked for this login before, for at most
 * `ms` milliseconds. A new string for base_free_secret, "" if none is set; NULL with the fault set: the command cannot be
 * run, does not end in time, fails, or prints nothing. */
char *imap_password(const struct config *config, const char *login, int64_t ms, struct fault *fault) OD_MUST;

/* After the server has refused this one: reads the file, or runs the command, again. Returns a password that is not the
 * refused one, likewise; NULL: there is no other, and if it cannot be told, the fault says why behind what it said before. */
char *imap_password_renew(const struct config *config, const char *login, const char *refused, int64_t ms,
                          struct fault *fault) OD_MUST;

/* Whether each login has a password of its own, for which the command is told whose. */
bool imap_password_is_own(const struct config *config) OD_MUST;

#endif
