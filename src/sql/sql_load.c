/* SPDX-License-Identifier: ISC */
#include "sql/sql_engine.h"

/* NULL unless linked to the program, as in tests. */
extern const struct sql_engine postgres_engine, sqlite_engine, mariadb_engine;
#pragma weak postgres_engine
#pragma weak sqlite_engine
#pragma weak mariadb_engine

static struct engine {
    const struct sql_engine *engine;
    struct module module;
} engines[] = {
    [CONFIG_ENGINE_POSTGRES] = {&postgres_engine,
                                {"oncedrop-postgres.so", "postgres_engine", "the engine for PostgreSQL",
                                 "oncedrop-postgres", false}},
    [CONFIG_ENGINE_SQLITE] = {&sqlite_engine,
                              {"oncedrop-sqlite.so", "sqlite_engine", "the engine for SQLite", "oncedrop-sqlite",
                               false}},
    [CONFIG_ENGINE_MARIADB] = {&mariadb_engine,
                               {"oncedrop-mariadb.so", "mariadb_engine", "the engine for MariaDB", "oncedrop-mariadb",
                                false}},
};

const struct sql_engine *sql_load(const struct config *config, struct error *error)
{
    struct engine *engine = &engines[config_engine(config)];
    if (engine->engine == NULL)
        engine->engine = module_load(&engine->module, error);
    return engine->engine;
}
