/* SPDX-License-Identifier: ISC
 *
 * The engine. */
#include "module_build.h"
#include "postgres/pg.h"
#include "postgres_schema.h"
#include "postgres_steps.h"

/* Read by module.c. */
extern const struct sql_engine postgres_engine;
extern const char postgres_engine_build[];
extern char *postgres_engine_libraries(void);
const char postgres_engine_build[] = MODULE_BUILD;
char *postgres_engine_libraries(void)
{
    return base_printf("libpq %d.%d", PQlibVersion() / 10000, PQlibVersion() % 10000);
}

static void engine_add(struct sql_session *pg, enum sql_step step, const struct sql_value *values)
{
    struct sql_value used[SQL_VALUES_MAX];
    size_t count;
    char *sql OD_CLEANUP(base_free) = sql_text_render(steps[step].text, values, used, &count);
    pg_add(pg, sql, count, used);
    if (step == SQL_STEP_settings)
        pg_detect_pooler(pg);
    if (step == SQL_STEP_claim_guard)
        pg_request_results(pg);
}

static void engine_add_text(struct sql_session *pg, const char *text, struct sql_value value)
{
    pg_add(pg, text, 1, &value);
}

static const struct sql_failure_code failures[] = {
    {"55P03", SQL_FAILURE_LOCK_TIMEOUT}, /* lock_not_available */
    {"40P01", SQL_FAILURE_CONFLICT},     /* deadlock_detected */
    {"42883", SQL_FAILURE_NO_LOCK},      /* undefined_function */
    {"0A000", SQL_FAILURE_NO_LOCK},      /* feature_not_supported */
    {"42501", SQL_FAILURE_REFUSED},      /* insufficient_privilege */
    {PG_NO_ROLE, SQL_FAILURE_NO_USER},   {PG_READ_ONLY, SQL_FAILURE_OTHER_HOST}, {NULL, SQL_FAILURE_OTHER},
};

/* The name has only letters, digits and _; quotes preserve case. */
static const struct sql_schema_mark schema_marks[] = {
    {"@schema@", "\"%s\""},
    {"@role_text@", "'%s_" SQL_DELIVERY "'"},
    {"@operator@", "\"%s_" SQL_OPERATOR "\""},
    {"@operator_text@", "'%s_" SQL_OPERATOR "'"},
    {"@feed@", "\"%s_feed\""},
    {"@feed_text@", "'%s_feed'"},
    {NULL, NULL},
};

const struct sql_engine postgres_engine = {
    .name = "PostgreSQL",
    .steps = steps,
    .pool_hint = " (PgBouncer: default_pool_size)",
    .open = pg_open,
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
    .next = pg_next,
    .committed = pg_committed,
    .finish = pg_finish,
    .script = pg_script,
    .wait = pg_wait,
    .nth_host = pg_nth_host,
    .login_is_service = pg_login_is_service,
    .login_command = pg_login_command,
    .hint = pg_hint,
    .failures = failures,
    .holders_hint =
        "PostgreSQL does not show this database user since when, and from where, others hold a lock; to see it:"
        " GRANT pg_read_all_stats TO %s_" SQL_OPERATOR ";",
    .schema = schema_files,
    .schema_marks = schema_marks,
    /* search_path as in other transactions (macro safe_path); views and defaults keep theirs */
    .schema_begin =
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;\n"
        "SET LOCAL search_path = pg_catalog, pg_temp;\n"
        "SET LOCAL lock_timeout = '2s';\n", /* deliveries wait behind it */
    .schema_end = "COMMIT;\n",
    .schema_alone = "SELECT pg_catalog.pg_advisory_xact_lock(8029464472776241008)", /* "oncedrop" in ASCII */
    .schema_again = "",
};
