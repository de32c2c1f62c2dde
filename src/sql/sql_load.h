/* SPDX-License-Identifier: ISC
 *
 * Which engine a database has, and where that comes from. */
#ifndef ONCEDROP_SQL_LOAD_H
#define ONCEDROP_SQL_LOAD_H

#include "sql/sql_engine.h"

/* Loads the engine of a database, which may be a module (base/module.h); once, however often it is called. False with the
 * fault set: there is none that can be used. */
bool sql_load(const struct config *config, struct fault *fault) OD_MUST;

/* The engine, which is loaded; never NULL. */
const struct sql_engine *sql_engine_of(const struct config *config) OD_MUST;

#endif
