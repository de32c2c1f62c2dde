/* SPDX-License-Identifier: ISC
 *
 * The engine. */
#include "module_build.h"
#include "sqlite/lite.h"
#include "sqlite_schema.h"
#include "sqlite_steps.h"

/* Read by module.c. */
extern const struct sql_engine sqlite_engine;
extern const char sqlite_engine_build[];
extern char *sqlite_engine_libraries(void);
const char sqlite_engine_build[] = MODULE_BUILD;
char *sqlite_engine_libraries(void)
{
    return base_printf("SQLite %s", sqlite3_libversion());
}

static bool lite_engine_usable(const struct sql_session *lite)
{
    return !lite->lost;
}

static bool lite_engine_in_transaction(const struct sql_session *lite)
{
    return lite->group_state == LITE_GROUP_FILLS || !sqlite3_get_autocommit(lite->db);
}

static void lite_engine_add(struct sql_session *lite, enum sql_step step, const struct sql_value *values)
{
    if (!lite_group_add(lite, step, &steps[step], values))
        lite_add_step(lite, &steps[step], values);
}

static void lite_engine_add_text(struct sql_session *lite, const char *text, struct sql_value value)
{
    lite_add(lite, text, NULL, 1, &value);
}

static struct sql_rows *lite_engine_next(struct sql_session *lite, struct error *error)
{
    lite_group_end(lite);
    return lite_next(lite, error);
}

static void lite_engine_close(struct sql_session *lite)
{
    lite_group_end(lite); /* while its locks last */
    lite_close(lite);
}

static bool lite_engine_finish(struct sql_session *lite)
{
    lite_group_end(lite);
    return lite_finish(lite);
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
    .close = lite_engine_close,
    .usable = lite_engine_usable,
    .in_transaction = lite_engine_in_transaction,
    .add = lite_engine_add,
    .add_text = lite_engine_add_text,
    .next = lite_engine_next,
    .finish = lite_engine_finish,
    .script = lite_script,
    .wait = lite_wait,
    .create = lite_create,
    .backup = lite_backup,
    .group_new = lite_group_new,
    .group_join = lite_group_join,
    .group_leave = lite_group_leave,
    .group_writer_died = lite_group_writer_died,
    .group_write = lite_group_write,
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
