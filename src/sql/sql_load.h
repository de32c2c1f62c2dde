/* SPDX-License-Identifier: ISC
 *
 * Which engine a database has, and where that comes from. */
#ifndef ONCEDROP_SQL_LOAD_H
#define ONCEDROP_SQL_LOAD_H

#include "sql/sql_engine.h"

/* Returns the engine of database.conninfo. The first call loads it, if it is a module (base/module.h). NULL with the fault
 * set: it cannot be loaded; a later call tries again. */
const struct sql_engine *sql_load(const struct config *config, struct fault *fault) OD_MUST;

#endif
