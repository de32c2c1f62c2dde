/* SPDX-License-Identifier: ISC */

#include "ledger/ledger_internal.h"

bool ledger_backup(const struct config *config, const char *file, struct error *error)
{
    const struct sql_engine *engine = sql_load(config, error);
    if (engine == NULL)
        return false;
    if (engine->backup(config, file, error))
        return true;
    sql_add_hint(engine, config, SQL_OPERATOR, error);
    return false;
}

struct sql_rows *ledger_damage(struct ledger *ledger, struct error *error)
{
    return ledger_query(ledger, SQL_STEP(file_damage), error);
}
