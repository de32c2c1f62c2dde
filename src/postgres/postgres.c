/* SPDX-License-Identifier: ISC
 *
 * The engine. */
#include <string.h>

#include "module_build.h"
#include "postgres/pg.h"
#include "postgres/pg_hint.h"
#include "postgres/pg_rows.h"
#include "postgres/pg_schema.h"
#include "postgres_steps.h"

/* Read by module_load. */
extern const struct sql_engine postgres_engine;
extern const char postgres_engine_build[];
const char postgres_engine_build[] = MODULE_BUILD;

static struct sql_session *engine_open(const struct config *config, const char *application, struct error *error)
{
    struct sql_session *pg = pg_open(config, application, error);
    if (pg == NULL)
        pg_add_login_hint(config, error);
    return pg;
}

static void engine_add(struct sql_session *pg, enum sql_step step, const struct sql_value *values)
{
    struct sql_value ordered[SQL_VALUES_MAX];
    size_t order[SQL_VALUES_MAX], count;
    char *sql OD_CLEANUP(base_free) = sql_text_render(steps[step].text, values, order, &count);
    for (size_t i = 0; i < count; i++)
        ordered[i] = values[order[i]];
    pg_add(pg, sql, count, ordered);
    if (step == SQL_STEP_settings)
        pg_record_settings(pg);
}

static void engine_add_text(struct sql_session *pg, const char *text, struct sql_value value)
{
    pg_add(pg, text, 1, &value);
}

static struct sql_rows *engine_take(struct sql_session *pg, size_t mark, struct error *error)
{
    return pg_rows(pg_take(pg, mark, error));
}

/* The administrator creates the database. */
static bool engine_create(const struct config *config, struct error *error)
{
    (void)config;
    (void)error;
    return true;
}

static char *engine_nth_host(const struct config *config, size_t n, char **ret_name)
{
    return pg_conninfo_host(config->database.conninfo, n, ret_name);
}

/* PostgreSQL has no self-tests. */
static enum sql_self_test engine_self_test(const struct config *config, bool connects, size_t n, const char **ret_name,
                                           struct error *ret)
{
    (void)connects;
    (void)config;
    (void)n;
    (void)ret_name;
    (void)ret;
    return SQL_SELF_TEST_END;
}

static enum sql_failure engine_failure(const struct error *error)
{
    static const struct {
        const char *sqlstate;
        enum sql_failure failure;
    } failures[] = {
        {"55P03", SQL_FAILURE_LOCK_TIMEOUT},                                 /* lock_not_available */
        {"42883", SQL_FAILURE_NO_LOCK},                                      /* undefined_function */
        {"0A000", SQL_FAILURE_NO_LOCK},                                      /* feature_not_supported */
        {PG_NO_ROLE, SQL_FAILURE_NO_USER},   {"42501", SQL_FAILURE_REFUSED}, /* insufficient_privilege */
    };
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (strcmp(error->code, failures[i].sqlstate) == 0)
            return failures[i].failure;
    return strstr(error->text, "session is read-only") != NULL ? SQL_FAILURE_OTHER_HOST /* target_session_attrs */
                                                               : SQL_FAILURE_OTHER;
}

static char *engine_holders_hint(const struct config *config)
{
    return base_printf(
        "PostgreSQL does not show this database user since when, and from where, others hold a lock;"
        " to see it: GRANT pg_read_all_stats TO %s_" SQL_OPERATOR ";",
        config->database.schema);
}

const struct sql_engine postgres_engine = {
    .name = "PostgreSQL",
    .steps = steps,
    .pool_hint = " (PgBouncer: default_pool_size)",
    .open = engine_open,
    .close = pg_close,
    .usable = pg_usable,
    .in_transaction = pg_in_transaction,
    .check_connection = pg_check_connection,
    .set_timeout = pg_set_timeout,
    .unlimit_result = pg_unlimit_result,
    .tls_summary = pg_tls_summary,
    .add = engine_add,
    .add_text = engine_add_text,
    .send = pg_send,
    .mark = pg_mark,
    .take = engine_take,
    .passed = pg_passed,
    .committed = pg_committed,
    .finish = pg_finish,
    .script = pg_script,
    .create = engine_create,
    .nth_host = engine_nth_host,
    .self_test = engine_self_test,
    .login_is_service = pg_login_is_service,
    .add_hint = pg_add_hint,
    .failure = engine_failure,
    .holders_hint = engine_holders_hint,
    .schema_needed = pg_schema_needed,
    .schema_sql = pg_schema_sql,
    .schema_begin = pg_schema_begin,
    .schema_end = "COMMIT;\n",
};
