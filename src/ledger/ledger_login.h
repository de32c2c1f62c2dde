/* SPDX-License-Identifier: ISC
 *
 * Which database user a session is for: by libpq's rule the one that conninfo or PGUSER names, else the one with the login
 * name of the process. */
#ifndef ONCEDROP_LEDGER_LOGIN_H
#define ONCEDROP_LEDGER_LOGIN_H

#include "ledger/ledger.h"

/* Whether a process that runs as service.user gets a session for that user: no other is named. */
bool ledger_login_is_service(const struct config *config) OD_MUST;

#define LEDGER_TYPE "; remedy, type: " /* what follows it, to the end of the text, is a command */

/* When a connection was refused for who the process is, adds to the text what to type: to create a role for its user
 * (LEDGER_NO_ROLE), to let the role into the database, or to become the user that conninfo names. */
void ledger_login_add_remedy(const struct config *config, struct fault *fault);

#endif
