/* SPDX-License-Identifier: ISC
 *
 * Adds to the text of a fault of the database what an administrator can do about it, if that is known. */
#ifndef ONCEDROP_PG_REMEDY_H
#define ONCEDROP_PG_REMEDY_H

#include "base/config.h"

#define PG_NO_ROLE "28000" /* the fault's code if the database has no role for the user of the process */

/* Whether a process that runs as service.user would log in to the database as that user, since no other user is
 * configured: by libpq's rule, in conninfo or PGUSER. */
bool pg_login_is_service(const struct config *config) OD_MUST;

/* If a connection was refused because of the user of the process: to create a role for the user (PG_NO_ROLE), to
 * give the role access to the database, or to become the user in conninfo. */
void pg_add_login_remedy(const struct config *config, struct fault *fault);

/* If a statement failed. role: the role that the statement needs. */
void pg_add_remedy(const struct config *config, const char *role, struct fault *fault);

#endif
