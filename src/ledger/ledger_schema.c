/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_schema.h"

#include <string.h>

#include "ledger/ledger_lock.h"

int ledger_schema_needed(const struct ledger *ledger)
{
    return ledger->engine->schema_needed();
}

bool ledger_schema_create(const struct config *config, struct fault *fault)
{
    const struct sql_engine *engine = sql_load(config, fault);
    return engine != NULL && engine->create(config, fault);
}

static bool ask_number(struct ledger *ledger, enum sql_step step, const struct sql_value *values, int64_t *ret,
                       struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_ask_here(ledger, SQL_DELIVERY, step, values, fault);
    if (rows != NULL)
        *ret = sql_number(rows, 0, 0);
    return rows != NULL;
}

bool ledger_schema_version(struct ledger *ledger, int *ret, struct fault *fault)
{
    int64_t there = 0, version = 0;
    if (!ledger_connect(ledger, fault) ||
        !ask_number(ledger, SQL_STEP(schema_installed, .schema = SQL_TEXT(ledger->config->database.schema)), &there,
                    fault))
        return false;
    if (there && !ask_number(ledger, SQL_STEP(schema_version), &version, fault))
        return false;
    *ret = (int)version;
    return true;
}

bool ledger_schema_fits(struct ledger *ledger, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_ask(ledger, SQL_DELIVERY, SQL_STEP(schema_unfit), fault);
    if (rows == NULL)
        return false;
    return rows->count == 0 || fault_set(fault, "%s", sql_text(rows, 0, SCHEMA_UNFIT_REASON));
}

char *ledger_schema_script(const struct config *config, struct fault *fault)
{
    const struct sql_engine *engine = sql_load(config, fault);
    if (engine == NULL)
        return NULL;
    char *sql OD_CLEANUP(base_free) = engine->schema_sql(config, 0);
    return base_printf("%s%s%s", engine->schema_begin(false), sql, engine->schema_end);
}

static bool agree(struct ledger *ledger, ledger_run *run, char **ret, struct fault *fault)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        run(ledger, SQL_DELIVERY,
            SQL_STEP(schema_agree, .method = SQL_TEXT(lock_method_name(ledger->config->lock.method))), fault);
    if (rows != NULL)
        *ret = base_strdup(rows->count == 1 ? sql_text(rows, 0, SCHEMA_AGREE_PREVIOUS) : "none");
    return rows != NULL;
}

bool ledger_schema_agree(struct ledger *ledger, char **ret, struct fault *fault)
{
    return agree(ledger, ledger_change, ret, fault);
}

static bool apply_files(struct ledger *ledger, int *ret_from, struct fault *fault)
{
    int from;
    char *previous OD_CLEANUP(base_free) = NULL;
    bool locks = ledger->config->lock.method == LOCK_METHOD_ADVISORY;
    if (!sql_script(ledger->sql, ledger->engine->schema_begin(locks), fault) ||
        !ledger_schema_version(ledger, &from, fault))
        return false;
    if (from == 0 && !ledger_schema_fits(ledger, fault))
        return false;
    if (from < ledger_schema_needed(ledger)) {
        char *sql OD_CLEANUP(base_free) = ledger->engine->schema_sql(ledger->config, from);
        if (!sql_script(ledger->sql, sql, fault) || (from == 0 && !agree(ledger, ledger_ask_here, &previous, fault)))
            return false;
    }
    if (!sql_script(ledger->sql, ledger->engine->schema_end, fault))
        return false;
    *ret_from = from;
    return true;
}

bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return false;
    bool done = apply_files(ledger, ret_from, fault);
    if (!done)
        ledger_rollback(ledger);
    return done;
}

/* That the engine cannot be loaded is no error of the database. */
static enum sql_failure failure_of(const struct config *config, const struct fault *fault)
{
    struct fault ignored;
    const struct sql_engine *engine = sql_load(config, &ignored);
    return engine != NULL ? engine->failure(fault) : SQL_FAILURE_OTHER;
}

bool ledger_is_no_user(const struct config *config, const struct fault *fault)
{
    return failure_of(config, fault) == SQL_FAILURE_NO_USER;
}

bool ledger_is_refused(const struct config *config, const struct fault *fault)
{
    return failure_of(config, fault) == SQL_FAILURE_REFUSED;
}
