/* SPDX-License-Identifier: ISC
 *
 * The engine. */
#include <string.h>

#include "module_build.h"
#include "sqlite/lite.h"
#include "sqlite_schema.h"
#include "sqlite_steps.h"

/* Read by module_load. */
extern const struct sql_engine sqlite_engine;
extern const char sqlite_engine_build[];
const char sqlite_engine_build[] = MODULE_BUILD;

static bool lite_engine_usable(const struct sql_session *lite)
{
    return !lite->lost;
}

static bool lite_engine_in_transaction(const struct sql_session *lite)
{
    return !sqlite3_get_autocommit(lite->db);
}

/* The texts number the values themselves (macro value); most have no line that depends on one. */
static void lite_engine_add(struct sql_session *lite, enum sql_step step, const struct sql_value *values)
{
    const struct sql_step_text *it = &steps[step];
    struct sql_value none[SQL_VALUES_MAX];
    size_t no_count;
    char *rendered OD_CLEANUP(base_free) =
        strchr(it->text, SQL_TEXT_IF) != NULL ? sql_text_render(it->text, values, none, &no_count) : NULL;
    lite_add(lite, rendered != NULL ? rendered : it->text, it->column_kinds, it->params, values);
}

static void lite_engine_add_text(struct sql_session *lite, const char *text, struct sql_value value)
{
    lite_add(lite, text, NULL, 1, &value);
}

static const struct sql_failure_code failures[] = {
    {"BUSY", SQL_FAILURE_LOCK_TIMEOUT},
    {"PERM", SQL_FAILURE_REFUSED},
    {"READONLY", SQL_FAILURE_REFUSED},
    {NULL, SQL_FAILURE_OTHER},
};

static const struct sql_schema_mark schema_marks[] = {{"@schema@", "main"}, {NULL, NULL}};

const struct sql_engine sqlite_engine = {
    .name = "SQLite",
    .steps = steps,
    .pool_hint = "",
    .in_process = true,
    .open = lite_open,
    .close = lite_close,
    .usable = lite_engine_usable,
    .in_transaction = lite_engine_in_transaction,
    .add = lite_engine_add,
    .add_text = lite_engine_add_text,
    .next = lite_next,
    .finish = lite_finish,
    .script = lite_script,
    .create = lite_create,
    .backup = lite_backup,
    .hint = lite_hint,
    .failures = failures,
    .self_tests = lite_self_tests,
    .holders_hint = "",
    .schema = schema_files,
    .schema_marks = schema_marks,
    .schema_begin = "BEGIN IMMEDIATE;\n",
    .schema_end = "COMMIT",
    .schema_again = "",
};
