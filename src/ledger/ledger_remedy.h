/* SPDX-License-Identifier: ISC
 *
 * Adds to the text of a fault of the database what an administrator can do about it, if that is known. */
#ifndef ONCEDROP_LEDGER_REMEDY_H
#define ONCEDROP_LEDGER_REMEDY_H

#include "base/base.h"
#include "base/config.h"

/* The roles that the schema creates, by the ends of their names: one for deliveries and replay; one with more rights,
 * for operators. */
#define LEDGER_DELIVERY "delivery"
#define LEDGER_OPERATOR "operator"

#define LEDGER_NO_ROLE "28000"         /* the fault's code if the database has no role for the user of the process */
#define LEDGER_TYPE "; remedy, type: " /* the rest of the text after this is a command */

/* Whether a process that runs as service.user would log in to the database as that user, since no other user is
 * configured: by libpq's rule, in conninfo or PGUSER. */
bool ledger_login_is_service(const struct config *config) OD_MUST;

/* If a connection was refused because of the user of the process: to create a role for the user (LEDGER_NO_ROLE), to
 * give the role access to the database, or to become the user in conninfo. */
void ledger_add_login_remedy(const struct config *config, struct fault *fault);

/* If a statement failed. role: the role that the statement needs. */
void ledger_add_remedy(const struct config *config, const char *role, struct fault *fault);

#endif
