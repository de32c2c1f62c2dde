/* SPDX-License-Identifier: ISC
 *
 * Adds hints for administrators to database errors. */
#ifndef ONCEDROP_PG_REMEDY_H
#define ONCEDROP_PG_REMEDY_H

#include "base/config.h"

#define PG_NO_ROLE "28000" /* error code: no role for this process's user */

/* As in sql_engine.h; libpq takes the user from conninfo or PGUSER. */
bool pg_login_is_service(const struct config *config) OD_MUST;

/* For a refused connection: create a role (PG_NO_ROLE), grant access to the database, or become the user in
 * conninfo. */
void pg_add_login_remedy(const struct config *config, struct fault *fault);

/* For a failed statement. role: what it needs. */
void pg_add_remedy(const struct config *config, const char *role, struct fault *fault);

#endif
