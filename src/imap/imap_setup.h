/* SPDX-License-Identifier: ISC
 *
 * The life of a connection: setup, login, end. */
#ifndef ONCEDROP_IMAP_SETUP_H
#define ONCEDROP_IMAP_SETUP_H

#include "base/config.h"
#include "imap/imap_stream.h"

/* One that is not connected yet; never NULL; end it with imap_setup_end. */
struct imap *imap_setup_new(const struct config *config) OD_MUST;

/* Connects, starts TLS, and reads the greeting: everything before the login; sets imap->certificate and logged_in. False
 * with the fault set. */
bool imap_setup(struct imap *imap, const struct config *config, const char *account, struct fault *fault) OD_MUST;

/* Sends LOGOUT, if there is a connection, and waits up to `ms` milliseconds for the server to close its end; then closes
 * it. imap.command gets up to a second to end and is then killed. *imap may be NULL, and is afterwards. */
void imap_setup_end_wait(struct imap **imap, int64_t ms);

/* The same without waiting. */
void imap_setup_end(struct imap **imap);

/* imap_login.c: the login name for an account. */
const char *imap_login_name(const struct config *config, const char *account) OD_MUST;

/* Logs in with the password of the configuration; before that, all is checked that would show it to somebody. False with
 * the fault set; imap->refused, crowded and ended say more. */
bool imap_login(struct imap *imap, const struct config *config, const char *login, struct fault *fault) OD_MUST;

#endif
