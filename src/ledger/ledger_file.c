/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_file.h"

#include "ledger/ledger_session.h"

bool ledger_backup(const struct config *config, const char *file, struct fault *fault)
{
    const struct sql_engine *engine = sql_load(config, fault);
    if (engine == NULL)
        return false;
    if (engine->backup(config, file, fault))
        return true;
    engine->add_remedy(config, SQL_OPERATOR, fault);
    return false;
}

struct ledger_table *ledger_damage(struct ledger *ledger, struct fault *fault)
{
    return ledger_query(ledger, SQL_STEP(file_damage), fault);
}
