/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Without "expired": a delivery treats it as pending, doubt included. */
static const char *const state_names[] = {
    [COPY_NONE] = "none",     [COPY_PENDING] = "pending", [COPY_APPENDING] = "appending",
    [COPY_STORED] = "stored", [COPY_FAILED] = "failed",
};

const char *ledger_copy_state_name(enum copy_state state)
{
    return state_names[state];
}

enum copy_state ledger_copy_state_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++)
        if (strcmp(name, state_names[i]) == 0)
            return (enum copy_state)i;
    return strcmp(name, "expired") == 0 ? COPY_PENDING : COPY_NONE;
}

struct ledger *ledger_open(const struct config *config, const char *queue_id, struct error *error)
{
    const struct sql_engine *engine = sql_load(config, error);
    if (engine == NULL)
        return NULL;
    struct ledger *ledger = base_alloc(sizeof(*ledger));
    ledger->config = config;
    ledger->engine = engine;
    if (gethostname(ledger->host, sizeof(ledger->host) - 1) != 0)
        strcpy(ledger->host, "localhost");
    snprintf(ledger->application, sizeof(ledger->application), "oncedrop %.20s[%d]%s%.20s", ledger->host, (int)getpid(),
             queue_id != NULL ? " " : "", queue_id != NULL ? queue_id : "");
    if (!ledger_connect(ledger, error))
        ledger_close(&ledger);
    return ledger;
}

bool ledger_connect(struct ledger *ledger, struct error *error)
{
    if (sql_usable(ledger->sql))
        sql_check_connection(ledger->sql);
    if (sql_usable(ledger->sql))
        return true;
    sql_close(&ledger->sql);
    ledger->in_transaction = false; /* a lease is still ours */
    ledger->sql = sql_open(ledger->config, ledger->application, error);
    return ledger->sql != NULL;
}

bool ledger_lost_reused(const struct ledger *ledger, bool kept)
{
    return kept && !sql_usable(ledger->sql);
}

bool ledger_is_lost(const struct ledger *ledger)
{
    return ledger != NULL && !sql_usable(ledger->sql);
}

void ledger_close(struct ledger **ledger)
{
    if (*ledger == NULL)
        return;
    sql_close(&(*ledger)->sql);
    base_free(&(*ledger)->holder);
    base_free(ledger);
}

bool ledger_load(const struct config *config, struct error *error)
{
    return sql_load(config, error) != NULL;
}

struct sql_group *ledger_group_new(const struct config *config, size_t members)
{
    struct error ignored;
    const struct sql_engine *engine = sql_load(config, &ignored);
    struct sql_group *group = engine != NULL && engine->group_new != NULL ? engine->group_new(members) : NULL;
    if (group != NULL)
        group->engine = engine;
    return group;
}

void ledger_group_join(struct sql_group *group, size_t number)
{
    if (group != NULL)
        group->engine->group_join(group, number);
}

void ledger_group_write(struct sql_group *group, const struct config *config)
{
    group->engine->group_write(group, config);
}

void ledger_group_writer_died(struct sql_group *group)
{
    group->engine->group_writer_died(group);
}

void ledger_group_leave(struct sql_group **group)
{
    if (*group != NULL)
        (*group)->engine->group_leave(*group);
    *group = NULL;
}

bool ledger_login_is_service(const struct config *config)
{
    struct error ignored;
    const struct sql_engine *engine = sql_load(config, &ignored);
    return engine != NULL && (engine->login_is_service == NULL || engine->login_is_service(config));
}

static void add_begin(struct ledger *ledger, enum sql_step begin, enum sql_step settings, int64_t lock_ms)
{
    sql_add(ledger->sql, begin, NULL);
    sql_add(ledger->sql, settings,
            SQL_VALUES(settings, .idle_ms = SQL_NUMBER(ledger->config->delivery.deadline),
                       .statement_ms = SQL_NUMBER(SQL_TIMEOUT_MS + lock_ms), .lock_ms = SQL_NUMBER(lock_ms)));
}

void ledger_add_begin(struct ledger *ledger, int64_t lock_ms)
{
    add_begin(ledger, SQL_STEP_begin, SQL_STEP_settings, lock_ms);
}

void ledger_add_begin_read(struct ledger *ledger, int64_t lock_ms)
{
    add_begin(ledger, SQL_STEP_begin_read, SQL_STEP_settings, lock_ms);
}

void ledger_add_begin_as_is(struct ledger *ledger)
{
    add_begin(ledger, SQL_STEP_begin_read, SQL_STEP_settings_as_is, SQL_TIMEOUT_MS);
}

void ledger_add_begin_idle(struct ledger *ledger)
{
    sql_add(ledger->sql, SQL_STEP(begin));
    sql_add(ledger->sql, SQL_STEP(settings_idle));
}

void ledger_add_event(struct ledger *ledger, const char *name, size_t count)
{
    sql_add(ledger->sql, SQL_STEP(event, .name = SQL_TEXT(name), .host = SQL_TEXT(ledger->host),
                                  .count = SQL_NUMBER((int64_t)count)));
}

void ledger_finish(struct ledger *ledger)
{
    struct error ignored;
    if (!sql_finish(ledger->sql) || !sql_in_transaction(ledger->sql))
        return;
    sql_add(ledger->sql, SQL_STEP(rollback));
    if (sql_send(ledger->sql, &ignored))
        sql_finish(ledger->sql);
}

void ledger_add_hint(const struct ledger *ledger, const char *role, struct error *error)
{
    sql_add_hint(ledger->engine, ledger->config, role, error);
}

struct sql_rows *ledger_query_here(struct ledger *ledger, const char *role, enum sql_step step,
                                   const struct sql_value *values, struct error *error)
{
    sql_add(ledger->sql, SQL_STEP(path)); /* outside of any transaction, what is needed to read */
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, step, values);
    struct sql_rows *rows = sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    sql_finish(ledger->sql);
    if (rows == NULL)
        ledger_add_hint(ledger, role, error);
    return rows;
}

struct sql_rows *ledger_read(struct ledger *ledger, const char *role, enum sql_step step,
                             const struct sql_value *values, struct error *error)
{
    return ledger_connect(ledger, error) ? ledger_query_here(ledger, role, step, values, error) : NULL;
}

struct sql_rows *ledger_write(struct ledger *ledger, const char *role, enum sql_step step,
                              const struct sql_value *values, struct error *error)
{
    if (!ledger_connect(ledger, error))
        return NULL;
    ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, step, values);
    sql_add(ledger->sql, SQL_STEP(commit));
    struct sql_rows *rows = sql_send(ledger->sql, error) ? sql_get_result(ledger->sql, mark, error) : NULL;
    if (rows != NULL && !sql_committed(ledger->sql, mark + 1, error))
        sql_rows_free(&rows);
    ledger_finish(ledger);
    if (rows == NULL)
        ledger_add_hint(ledger, role, error);
    return rows;
}
