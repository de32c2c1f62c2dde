/* SPDX-License-Identifier: ISC
 *
 * A login's password or bearer token. The output of imap.password_command is cached until the server refuses it. */
#ifndef ONCEDROP_IMAP_PASSWORD_H
#define ONCEDROP_IMAP_PASSWORD_H

#include "base/config.h"

/* Returns the password, cached if possible: a new string for base_free_secret(), "" if none is set. NULL with the error
 * set: the command cannot be run, exceeds `ms` milliseconds, fails, or prints nothing. */
char *imap_password(const struct config *config, const char *login, int64_t ms, struct error *error) OD_MUST;

/* Reads the file, or runs the command, again. Returns a password other than the refused one, like imap_password().
 * NULL: there is none; a failure to read is appended to *error. */
char *imap_password_renew(const struct config *config, const char *login, const char *refused, int64_t ms,
                          struct error *error) OD_MUST;

/* Returns whether the command is run for each login. */
bool imap_password_is_own(const struct config *config) OD_MUST;

#endif
