/* SPDX-License-Identifier: ISC
 *
 * The database user of a session, by libpq's rule: the one in conninfo or PGUSER, else the login name of the process. */
#ifndef ONCEDROP_LEDGER_LOGIN_H
#define ONCEDROP_LEDGER_LOGIN_H

#include "ledger/ledger.h"

/* Whether a process that runs as service.user would log in to the database as that user, since no other user is
 * configured. */
bool ledger_login_is_service(const struct config *config) OD_MUST;

#define LEDGER_TYPE "; remedy, type: " /* the rest of the text after this is a command */

/* If a connection was refused because of the user of the process, adds to the text what to type: to create a role for
 * the user (LEDGER_NO_ROLE), to give the role access to the database, or to become the user in conninfo. */
void ledger_login_add_remedy(const struct config *config, struct fault *fault);

#endif
