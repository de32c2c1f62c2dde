/* SPDX-License-Identifier: ISC
 *
 * Adds hints to database errors. */
#ifndef ONCEDROP_PG_HINT_H
#define ONCEDROP_PG_HINT_H

#include "base/config.h"

#define PG_NO_ROLE "28000" /* error code: no role for the process's user */

/* By conninfo or PGUSER, like libpq. */
bool pg_login_is_service(const struct config *config) OD_MUST;

void pg_add_login_hint(const struct config *config, struct error *error);

/* For a failed statement, which needs the role. */
void pg_add_hint(const struct config *config, const char *role, struct error *error);

#endif
