/* SPDX-License-Identifier: ISC
 *
 * The SQL that installs and upgrades the schema, from the files in schema/. */
#ifndef ONCEDROP_PG_SCHEMA_H
#define ONCEDROP_PG_SCHEMA_H

#include "base/config.h"

/* The newest version. */
int pg_schema_needed(void) OD_MUST;

/* The SQL of all versions after `from`, with the name of the schema filled in: a new string (free(3)). */
char *pg_schema_sql(const struct config *config, int from) OD_MUST;

/* The beginning of a transaction for it. alone: with an advisory lock, so that others who install it wait. */
const char *pg_schema_begin(bool alone) OD_MUST;

#endif
