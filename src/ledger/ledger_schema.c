/* SPDX-License-Identifier: ISC */
#include <poll.h>
#include <string.h>

#include "ledger/ledger_internal.h"

#define UPGRADE_MS 60000 /* to get all locks */
#define GAP_MS 1000      /* for deliveries that have waited */

int ledger_schema_needed(const struct ledger *ledger)
{
    int newest = 0;
    for (const struct sql_schema_file *file = ledger->engine->schema; file->text != NULL; file++)
        newest = file->version;
    return newest;
}

bool ledger_schema_create(const struct config *config, struct error *error)
{
    const struct sql_engine *engine = sql_load(config, error);
    return engine != NULL && (engine->create == NULL || engine->create(config, error));
}

static bool ask_number(struct ledger *ledger, enum sql_step step, const struct sql_value *values, int64_t *ret,
                       struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_query_here(ledger, SQL_DELIVERY, step, values, error);
    if (rows != NULL)
        *ret = sql_number(rows, 0, 0);
    return rows != NULL;
}

bool ledger_schema_version(struct ledger *ledger, int *ret, struct error *error)
{
    int64_t there = 0, version = 0;
    if (!ledger_connect(ledger, error) ||
        !ask_number(ledger, SQL_STEP(schema_installed, .schema = SQL_TEXT(ledger->config->database.schema)), &there,
                    error))
        return false;
    if (there && !ask_number(ledger, SQL_STEP(schema_version), &version, error))
        return false;
    *ret = (int)version;
    return true;
}

bool ledger_schema_fits(struct ledger *ledger, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_read(ledger, SQL_DELIVERY, SQL_STEP(schema_unfit), error);
    if (rows == NULL)
        return false;
    return rows->count == 0 || error_set(error, "%s", sql_text(rows, 0, SCHEMA_UNFIT_REASON));
}

char *ledger_schema_script(const struct config *config, struct error *error)
{
    const struct sql_engine *engine = sql_load(config, error);
    if (engine == NULL)
        return NULL;
    char *sql OD_CLEANUP(base_free) = sql_schema(engine, config, 0);
    return base_printf("%s%s%s", engine->schema_begin, sql, engine->schema_end);
}

static bool agree(struct ledger *ledger, ledger_query_function *run, char **ret, struct error *error)
{
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) =
        run(ledger, SQL_DELIVERY,
            SQL_STEP(schema_agree, .method = SQL_TEXT(lock_method_name(ledger->config->lock.method))), error);
    if (rows != NULL)
        *ret = base_strdup(rows->count == 1 ? sql_text(rows, 0, SCHEMA_AGREE_PREVIOUS) : "none");
    return rows != NULL;
}

bool ledger_schema_agree(struct ledger *ledger, char **ret, struct error *error)
{
    return agree(ledger, ledger_write, ret, error);
}

static bool apply_files(struct ledger *ledger, int *ret_from, struct error *error)
{
    int from;
    char *previous OD_CLEANUP(base_free) = NULL;
    const char *alone = ledger->config->lock.method == LOCK_METHOD_ADVISORY ? ledger->engine->schema_alone : NULL;
    if (!sql_script(ledger->sql, ledger->engine->schema_begin, error) ||
        (alone != NULL && !sql_script(ledger->sql, alone, error)) || !ledger_schema_version(ledger, &from, error))
        return false;
    if (from == 0 && !ledger_schema_fits(ledger, error))
        return false;
    if (from < ledger_schema_needed(ledger)) {
        char *sql OD_CLEANUP(base_free) = sql_schema(ledger->engine, ledger->config, from);
        if (!sql_script(ledger->sql, sql, error) || (from == 0 && !agree(ledger, ledger_query_here, &previous, error)))
            return false;
    }
    if (!sql_script(ledger->sql, ledger->engine->schema_end, error))
        return false;
    *ret_from = from;
    return true;
}

bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct error *error)
{
    const int64_t until = base_now_ms() + UPGRADE_MS;
    do {
        if (!ledger_connect(ledger, error))
            return false;
        if (apply_files(ledger, ret_from, error))
            return true;
        ledger_rollback(ledger);
        if (!ledger_lock_unavailable(ledger, error))
            return false;
        (void)poll(NULL, 0, GAP_MS);
    } while (base_now_ms() < until);
    return error_prefix(error, "its tables are in use (run it again, or stop what uses them)");
}

/* That the engine cannot be loaded is no error of the database. */
static enum sql_failure failure_of(const struct config *config, const struct error *error)
{
    struct error ignored;
    const struct sql_engine *engine = sql_load(config, &ignored);
    return engine != NULL ? sql_failure(engine->failures, error) : SQL_FAILURE_OTHER;
}

bool ledger_is_no_user(const struct config *config, const struct error *error)
{
    return failure_of(config, error) == SQL_FAILURE_NO_USER;
}

bool ledger_is_refused(const struct config *config, const struct error *error)
{
    return failure_of(config, error) == SQL_FAILURE_REFUSED;
}
