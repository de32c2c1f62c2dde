/* SPDX-License-Identifier: ISC
 *
 * Installs and upgrades the schema; see sql_engine.h. */
#ifndef ONCEDROP_PG_SCHEMA_H
#define ONCEDROP_PG_SCHEMA_H

#include "base/config.h"

int pg_schema_needed(void) OD_MUST;

char *pg_schema_sql(const struct config *config, int from) OD_MUST;

const char *pg_schema_begin(bool alone) OD_MUST;

#endif
