/* SPDX-License-Identifier: ISC
 *
 * The engine: its steps, and what it has of sql.h. */
#include "mariadb/maria.h"
#include "mariadb_steps.h"
#include "module_build.h"

/* Both are read by module_load. */
extern const struct sql_engine mariadb_engine;
extern const char mariadb_engine_build[];
const char mariadb_engine_build[] = MODULE_BUILD;

static struct sql_session *maria_engine_open(const struct config *config, const char *application, struct fault *fault)
{
    struct sql_session *maria = maria_open(config, application, fault);
    if (maria == NULL)
        maria_add_remedy(config, SQL_DELIVERY, fault);
    return maria;
}

static void maria_engine_set_timeout(struct sql_session *maria, int64_t ms)
{
    maria->timeout_ms = ms;
}

static void maria_engine_receive_any(struct sql_session *maria)
{
    maria->receive_max = INT64_MAX;
}

static void maria_engine_add(struct sql_session *maria, enum sql_step step, const struct sql_value *values)
{
    const struct sql_step_text *it = &steps[step];
    char *text OD_CLEANUP(base_free) = maria_text(it->text, values);
    if (step == SQL_STEP_commit)
        maria_add_commit(maria);
    else if (step == SQL_STEP_release_session || step == SQL_STEP_release_sessions)
        maria_add_released(maria, text);
    else
        maria_add(maria, text, maria_statements(it->text), it->gives);
}

static void maria_engine_add_text(struct sql_session *maria, const char *text, struct sql_value value)
{
    char *site OD_CLEANUP(base_free) = maria_site_text(text, &value);
    maria_add(maria, site, 1, "");
}

static bool maria_engine_committed(struct sql_session *maria, size_t mark, struct fault *fault)
{
    return maria_passed(maria, mark + 1, fault);
}

/* A database is created by its administrator. */
static bool maria_engine_create(const struct config *config, struct fault *fault)
{
    (void)config;
    (void)fault;
    return true;
}

static char *maria_engine_show_holders(const struct config *config)
{
    (void)config;
    return base_strdup(
        "MariaDB does not show this database user the sessions of others that hold a lock; to see them:"
        " GRANT PROCESS ON *.* TO the user");
}

const struct sql_engine mariadb_engine = {
    .name = "MariaDB",
    .steps = steps,
    .pool_hint = "",
    .open = maria_engine_open,
    .close = maria_close,
    .usable = maria_usable,
    .in_transaction = maria_in_transaction,
    .look = maria_look,
    .set_timeout = maria_engine_set_timeout,
    .receive_any = maria_engine_receive_any,
    .secured = maria_secured,
    .add = maria_engine_add,
    .add_text = maria_engine_add_text,
    .send = maria_send,
    .mark = maria_mark,
    .take = maria_take,
    .passed = maria_passed,
    .committed = maria_engine_committed,
    .finish = maria_finish,
    .script = maria_script,
    .create = maria_engine_create,
    .nth_host = maria_nth_host,
    .prove = maria_prove,
    .login_is_service = maria_login_is_service,
    .add_remedy = maria_add_remedy,
    .failure = maria_failure,
    .show_holders = maria_engine_show_holders,
    .schema_needed = maria_schema_needed,
    .schema_sql = maria_schema_sql,
    .schema_begin = maria_schema_begin,
    .schema_end = "DO RELEASE_LOCK(concat('oncedrop.schema.', DATABASE()))",
};
