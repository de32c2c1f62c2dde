/* SPDX-License-Identifier: ISC
 *
 * The engine. */
#include <string.h>

#include "module_build.h"
#include "sqlite/lite.h"
#include "sqlite_steps.h"

/* Read by module_load. */
extern const struct sql_engine sqlite_engine;
extern const char sqlite_engine_build[];
const char sqlite_engine_build[] = MODULE_BUILD;

static struct sql_session *lite_engine_open(const struct config *config, const char *application, struct error *error)
{
    struct sql_session *lite = lite_open(config, application, error);
    if (lite == NULL)
        lite_add_hint(config, SQL_DELIVERY, error);
    return lite;
}

static bool lite_engine_usable(const struct sql_session *lite)
{
    return !lite->lost;
}

static bool lite_engine_in_transaction(const struct sql_session *lite)
{
    return !sqlite3_get_autocommit(lite->db);
}

static void lite_engine_check_connection(struct sql_session *lite)
{
    (void)lite; /* a file does not disconnect */
}

static void lite_engine_set_timeout(struct sql_session *lite, int64_t ms)
{
    (void)lite;
    (void)ms;
}

static void lite_engine_unlimit_result(struct sql_session *lite)
{
    (void)lite;
}

static const char *lite_engine_tls_summary(const struct sql_session *lite, bool *ret_ok)
{
    (void)lite;
    *ret_ok = true;
    return "a file of this host";
}

static void lite_engine_add(struct sql_session *lite, enum sql_step step, const struct sql_value *values)
{
    struct sql_value ordered[SQL_VALUES_MAX];
    size_t order[SQL_VALUES_MAX], count;
    char *sql OD_CLEANUP(base_free) = sql_text_render(steps[step].text, values, order, &count);
    for (size_t i = 0; i < count; i++)
        ordered[i] = values[order[i]];
    lite_add(lite, sql, steps[step].column_kinds, count, ordered);
}

static void lite_engine_add_text(struct sql_session *lite, const char *text, struct sql_value value)
{
    lite_add(lite, text, NULL, 1, &value);
}

static bool lite_engine_committed(struct sql_session *lite, size_t mark, struct error *error)
{
    return lite_passed(lite, mark + 1, error);
}

static char *lite_engine_nth_host(const struct config *config, size_t n, char **ret_name)
{
    (void)config;
    (void)n;
    (void)ret_name;
    return NULL;
}

/* The files belong to service.user. */
static bool lite_engine_login_is_service(const struct config *config)
{
    (void)config;
    return true;
}

static enum sql_failure lite_engine_failure(const struct error *error)
{
    return strcmp(error->code, "BUSY") == 0                                           ? SQL_FAILURE_LOCK_TIMEOUT
           : strcmp(error->code, "PERM") == 0 || strcmp(error->code, "READONLY") == 0 ? SQL_FAILURE_REFUSED
                                                                                      : SQL_FAILURE_OTHER;
}

static char *lite_engine_holders_hint(const struct config *config)
{
    (void)config;
    return base_strdup("");
}

const struct sql_engine sqlite_engine = {
    .name = "SQLite",
    .steps = steps,
    .pool_hint = "",
    .in_process = true,
    .open = lite_engine_open,
    .close = lite_close,
    .usable = lite_engine_usable,
    .in_transaction = lite_engine_in_transaction,
    .check_connection = lite_engine_check_connection,
    .set_timeout = lite_engine_set_timeout,
    .unlimit_result = lite_engine_unlimit_result,
    .tls_summary = lite_engine_tls_summary,
    .add = lite_engine_add,
    .add_text = lite_engine_add_text,
    .send = lite_send,
    .mark = lite_mark,
    .take = lite_take,
    .passed = lite_passed,
    .committed = lite_engine_committed,
    .finish = lite_finish,
    .script = lite_script,
    .create = lite_create,
    .backup = lite_backup,
    .nth_host = lite_engine_nth_host,
    .self_test = lite_self_test,
    .login_is_service = lite_engine_login_is_service,
    .add_hint = lite_add_hint,
    .failure = lite_engine_failure,
    .holders_hint = lite_engine_holders_hint,
    .schema_needed = lite_schema_needed,
    .schema_sql = lite_schema_sql,
    .schema_begin = lite_schema_begin,
    .schema_end = "COMMIT",
};
