/* SPDX-License-Identifier: ISC */
#include "sql/sql_engine.h"

/* NULL unless linked to the program, as in tests. */
extern const struct sql_engine postgres_engine, sqlite_engine, mariadb_engine;
#pragma weak postgres_engine
#pragma weak sqlite_engine
#pragma weak mariadb_engine

static const struct sql_engine *engines[] = {
    [CONFIG_ENGINE_POSTGRES] = &postgres_engine,
    [CONFIG_ENGINE_SQLITE] = &sqlite_engine,
    [CONFIG_ENGINE_MARIADB] = &mariadb_engine,
};

const struct sql_engine *sql_load(const struct config *config, struct error *error)
{
    enum config_engine engine = config_engine(config);
    if (engines[engine] == NULL)
        engines[engine] = module_load(MODULE_ENGINE + engine, error);
    return engines[engine];
}
