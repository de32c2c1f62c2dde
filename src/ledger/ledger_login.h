/* SPDX-License-Identifier: ISC
 *
 * As which database user the sessions are opened: by libpq's rule the one that conninfo or PGUSER names, else the one with
 * the login name of the process. */
#ifndef ONCEDROP_LEDGER_LOGIN_H
#define ONCEDROP_LEDGER_LOGIN_H

#include "ledger/ledger.h"

/* Whether service.user is that user when the process runs as it: no other is named. A conninfo that cannot be read names
 * none. */
bool ledger_login_is_service(const struct config *config) OD_MUST;

/* Adds to the text of a failed connection what makes a login possible, when it was refused for who the process is. */
void ledger_login_add_remedy(const struct config *config, struct fault *fault);

#endif
