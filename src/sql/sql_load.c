/* SPDX-License-Identifier: ISC */
#include "sql/sql_load.h"

#include <stdlib.h>

#include "base/module.h"

/* NULL unless it is linked to the program, as it is to tests. */
extern const struct sql_engine postgres_engine;
#pragma weak postgres_engine

static const struct sql_engine *postgres = &postgres_engine;

bool sql_load(const struct config *config, struct fault *fault)
{
    static const struct module module = {
        .file = "oncedrop-postgres.so",
        .table = "postgres_engine",
        .what = "the engine for PostgreSQL",
        .from = "make install",
    };
    (void)config;
    if (postgres == NULL)
        postgres = module_load(&module, fault);
    return postgres != NULL;
}

const struct sql_engine *sql_engine_of(const struct config *config)
{
    (void)config;
    if (postgres == NULL)
        abort(); /* sql_load comes first */
    return postgres;
}
