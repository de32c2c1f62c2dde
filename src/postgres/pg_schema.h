/* SPDX-License-Identifier: ISC
 *
 * The SQL that installs and upgrades the schema, from the files in schema/; see sql_engine.h. */
#ifndef ONCEDROP_PG_SCHEMA_H
#define ONCEDROP_PG_SCHEMA_H

#include "base/config.h"

int pg_schema_needed(void) OD_MUST;

char *pg_schema_sql(const struct config *config, int from) OD_MUST;

/* alone: with an advisory lock, so that other installers wait. */
const char *pg_schema_begin(bool alone) OD_MUST;

#endif
