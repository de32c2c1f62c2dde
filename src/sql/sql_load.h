/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SQL_LOAD_H
#define ONCEDROP_SQL_LOAD_H

#include "sql/sql_engine.h"

/* Returns the engine of database.conninfo, loaded if it is a module (base/module.h). NULL with the error set; a later
 * call retries. */
const struct sql_engine *sql_load(const struct config *config, struct error *error) OD_MUST;

#endif
