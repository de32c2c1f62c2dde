/* SPDX-License-Identifier: ISC
 *
 * The engine: its steps, and what it has of sql.h. */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "module_build.h"
#include "postgres/pg_internal.h"
#include "postgres/pg_remedy.h"
#include "postgres/pg_rows.h"
#include "postgres/pg_schema.h"
#include "postgres_steps.h"
#include "sql/sql_engine.h"
#include "sql/sql_text.h"

/* Both are read by module_load. */
extern const struct sql_engine postgres_engine;
extern const char postgres_engine_build[];
const char postgres_engine_build[] = MODULE_BUILD;

static struct pg *pg_of(const struct sql_session *session)
{
    return (struct pg *)(uintptr_t)session;
}

static struct sql_session *engine_open(const struct config *config, const char *application, struct fault *fault)
{
    struct pg *pg = pg_open(config->database.conninfo, application, config->database.schema,
                            config->database.tls == DATABASE_TLS_VERIFY, fault);
    if (pg == NULL)
        pg_add_login_remedy(config, fault);
    return (struct sql_session *)pg;
}

static void engine_close(struct sql_session *session)
{
    struct pg *pg = pg_of(session);
    pg_close(&pg);
}

static bool engine_usable(const struct sql_session *session)
{
    return pg_usable(pg_of(session));
}

static bool engine_in_transaction(const struct sql_session *session)
{
    return pg_in_transaction(pg_of(session));
}

static void engine_look(struct sql_session *session)
{
    pg_look(pg_of(session));
}

static void engine_set_timeout(struct sql_session *session, int64_t ms)
{
    pg_set_timeout(pg_of(session), ms);
}

static void engine_receive_any(struct sql_session *session)
{
    pg_receive_any(pg_of(session));
}

static const char *engine_secured(const struct sql_session *session, bool *ret_good)
{
    return pg_secured(pg_of(session), ret_good);
}

/* A list of numbers as an array literal, a new string. */
static char *number_array(const int64_t *numbers, size_t count)
{
    GString *text = g_string_new("{");
    for (size_t i = 0; i < count; i++)
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", numbers[i]);
    g_string_append_c(text, '}');
    return g_string_free(text, FALSE);
}

/* *made: what the parameter points to, if it is new. */
static struct pg_param param_of(const struct sql_value *value, char **made)
{
    switch (value->kind) {
    case SQL_KIND_NONE:
        return PG_TEXT(NULL);
    case SQL_KIND_TEXT:
        return (struct pg_param){.data = value->text, .max = value->size};
    case SQL_KIND_TRUTH:
        return PG_BOOL(value->truth);
    case SQL_KIND_BYTES:
        return PG_BYTES(value->bytes, value->size);
    case SQL_KIND_NUMBER:
        *made = base_printf("%" G_GINT64_FORMAT, value->number);
        return PG_TEXT(*made);
    case SQL_KIND_TEXTS:
        *made = pg_text_array(value->texts, value->size);
        return PG_ARRAY(*made);
    case SQL_KIND_NUMBERS:
        *made = number_array(value->numbers, value->size);
        return PG_ARRAY(*made);
    case SQL_KIND_FORGOTTEN:
        break;
    }
    abort(); /* the caller has not named it */
}

static void engine_add(struct sql_session *session, enum sql_step step, const struct sql_value *values)
{
    struct pg *pg = pg_of(session);
    struct pg_param params[SQL_VALUES_MAX];
    char *made[SQL_VALUES_MAX] = {NULL};
    size_t order[SQL_VALUES_MAX], count;
    for (size_t i = 0; i < steps[step].takes; i++)
        if (values[i].kind == SQL_KIND_FORGOTTEN)
            abort();
    char *sql OD_CLEANUP(base_free) = sql_text_render(steps[step].text, values, order, &count);
    for (size_t i = 0; i < count; i++)
        params[i] = param_of(&values[order[i]], &made[i]);
    pg_add(pg, sql, count, params);
    if (step == SQL_STEP_settings)
        pg_note_settings(pg);
    for (size_t i = 0; i < count; i++)
        base_free(&made[i]);
}

static void engine_add_text(struct sql_session *session, const char *text, struct sql_value value)
{
    char *made OD_CLEANUP(base_free) = NULL;
    const struct pg_param param = param_of(&value, &made);
    pg_add(pg_of(session), text, 1, &param);
}

static bool engine_send(struct sql_session *session, struct fault *fault)
{
    return pg_send(pg_of(session), fault);
}

static size_t engine_mark(const struct sql_session *session)
{
    return pg_mark(pg_of(session));
}

static struct sql_rows *engine_take(struct sql_session *session, size_t mark, struct fault *fault)
{
    return pg_rows(pg_take(pg_of(session), mark, fault));
}

static bool engine_passed(struct sql_session *session, size_t mark, struct fault *fault)
{
    return pg_passed(pg_of(session), mark, fault);
}

static bool engine_committed(struct sql_session *session, size_t mark, struct fault *fault)
{
    return pg_committed(pg_of(session), mark, fault);
}

static bool engine_finish(struct sql_session *session)
{
    return pg_finish(pg_of(session));
}

static bool engine_script(struct sql_session *session, const char *text, struct fault *fault)
{
    return pg_script(pg_of(session), text, fault);
}

static char *engine_nth_host(const struct config *config, size_t n, char **ret_name)
{
    return pg_conninfo_host(config->database.conninfo, n, ret_name);
}

static bool has_code(const struct fault *fault, const char *sqlstate)
{
    return strcmp(fault->code, sqlstate) == 0;
}

static bool is_lock_timeout(const struct fault *fault)
{
    return has_code(fault, "55P03"); /* lock_not_available */
}

static bool lacks_lock(const struct fault *fault)
{
    return has_code(fault, "42883") || has_code(fault, "0A000"); /* undefined_function, feature_not_supported */
}

static bool is_no_user(const struct fault *fault)
{
    return has_code(fault, PG_NO_ROLE);
}

static bool is_refused(const struct fault *fault)
{
    return has_code(fault, "42501"); /* insufficient_privilege */
}

static bool is_other_host(const struct fault *fault)
{
    return strstr(fault->text, "session is read-only") != NULL; /* target_session_attrs */
}

const struct sql_engine postgres_engine = {
    .name = "postgres",
    .open = engine_open,
    .close = engine_close,
    .usable = engine_usable,
    .in_transaction = engine_in_transaction,
    .look = engine_look,
    .set_timeout = engine_set_timeout,
    .receive_any = engine_receive_any,
    .secured = engine_secured,
    .add = engine_add,
    .add_text = engine_add_text,
    .send = engine_send,
    .mark = engine_mark,
    .take = engine_take,
    .passed = engine_passed,
    .committed = engine_committed,
    .finish = engine_finish,
    .script = engine_script,
    .nth_host = engine_nth_host,
    .login_is_service = pg_login_is_service,
    .add_remedy = pg_add_remedy,
    .is_lock_timeout = is_lock_timeout,
    .lacks_lock = lacks_lock,
    .is_no_user = is_no_user,
    .is_refused = is_refused,
    .is_other_host = is_other_host,
    .schema_needed = pg_schema_needed,
    .schema_sql = pg_schema_sql,
    .schema_begin = pg_schema_begin,
};
