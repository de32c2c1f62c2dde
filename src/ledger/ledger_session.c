/* SPDX-License-Identifier: ISC */
#include "ledger/ledger_session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Without "abandoned": a delivery treats it as pending, doubt included. */
static const char *const state_names[] = {
    [COPY_NONE] = "none",     [COPY_PENDING] = "pending", [COPY_APPENDING] = "appending",
    [COPY_STORED] = "stored", [COPY_FAILED] = "failed",
};

const char *ledger_state_name(enum copy_state state)
{
    return state_names[state];
}

enum copy_state ledger_state(const char *name)
{
    for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++)
        if (strcmp(name, state_names[i]) == 0)
            return (enum copy_state)i;
    return strcmp(name, "abandoned") == 0 ? COPY_PENDING : COPY_NONE;
}

const char *ledger_role_name(enum copy_role role)
{
    return role == COPY_SENT ? "sent" : "inbox";
}

struct ledger *ledger_open(const struct config *config, const char *queue_id, struct fault *fault)
{
    const struct sql_engine *engine = sql_load(config, fault);
    if (engine == NULL)
        return NULL;
    struct ledger *ledger = base_alloc(sizeof(*ledger));
    ledger->config = config;
    ledger->engine = engine;
    if (gethostname(ledger->host, sizeof(ledger->host) - 1) != 0)
        strcpy(ledger->host, "localhost");
    snprintf(ledger->application, sizeof(ledger->application), "oncedrop %.20s[%d]%s%.20s", ledger->host, (int)getpid(),
             queue_id != NULL ? " " : "", queue_id != NULL ? queue_id : "");
    if (!ledger_connect(ledger, fault))
        ledger_close(&ledger);
    return ledger;
}

bool ledger_connect(struct ledger *ledger, struct fault *fault)
{
    if (sql_usable(ledger->sql))
        sql_look(ledger->sql);
    if (sql_usable(ledger->sql))
        return true;
    sql_close(&ledger->sql);
    ledger->in_transaction = false; /* a lease is still ours */
    ledger->sql = sql_open(ledger->config, ledger->application, fault);
    return ledger->sql != NULL;
}

bool ledger_lost_kept(const struct ledger *ledger, bool kept)
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

bool ledger_load(const struct config *config, struct fault *fault)
{
    return sql_load(config, fault) != NULL;
}

bool ledger_login_is_service(const struct config *config)
{
    struct fault ignored;
    const struct sql_engine *engine = sql_load(config, &ignored);
    return engine != NULL && engine->login_is_service(config);
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

void ledger_add_begin_look(struct ledger *ledger, int64_t lock_ms)
{
    add_begin(ledger, SQL_STEP_begin_look, SQL_STEP_settings, lock_ms);
}

void ledger_add_begin_as_is(struct ledger *ledger)
{
    add_begin(ledger, SQL_STEP_begin_look, SQL_STEP_settings_as_is, SQL_TIMEOUT_MS);
}

void ledger_add_begin_idle(struct ledger *ledger)
{
    sql_add(ledger->sql, SQL_STEP(begin));
    sql_add(ledger->sql, SQL_STEP(settings_idle));
}

void ledger_add_path(struct ledger *ledger)
{
    sql_add(ledger->sql, SQL_STEP(path));
}

void ledger_add_event(struct ledger *ledger, const char *name, size_t count)
{
    sql_add(ledger->sql, SQL_STEP(event, .name = SQL_TEXT(name), .host = SQL_TEXT(ledger->host),
                                  .count = SQL_NUMBER((int64_t)count)));
}

void ledger_finish(struct ledger *ledger)
{
    struct fault ignored;
    if (!sql_finish(ledger->sql) || !sql_in_transaction(ledger->sql))
        return;
    sql_add(ledger->sql, SQL_STEP(rollback));
    if (sql_send(ledger->sql, &ignored))
        sql_finish(ledger->sql);
}

void ledger_add_remedy(const struct ledger *ledger, const char *role, struct fault *fault)
{
    ledger->engine->add_remedy(ledger->config, role, fault);
}

struct sql_rows *ledger_ask_here(struct ledger *ledger, const char *role, enum sql_step step,
                                 const struct sql_value *values, struct fault *fault)
{
    ledger_add_path(ledger);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, step, values);
    struct sql_rows *rows = sql_send(ledger->sql, fault) ? sql_take(ledger->sql, mark, fault) : NULL;
    sql_finish(ledger->sql);
    if (rows == NULL)
        ledger_add_remedy(ledger, role, fault);
    return rows;
}

struct sql_rows *ledger_ask(struct ledger *ledger, const char *role, enum sql_step step, const struct sql_value *values,
                            struct fault *fault)
{
    return ledger_connect(ledger, fault) ? ledger_ask_here(ledger, role, step, values, fault) : NULL;
}

struct sql_rows *ledger_change(struct ledger *ledger, const char *role, enum sql_step step,
                               const struct sql_value *values, struct fault *fault)
{
    if (!ledger_connect(ledger, fault))
        return NULL;
    ledger_add_begin(ledger, SQL_TIMEOUT_MS);
    size_t mark = sql_mark(ledger->sql);
    sql_add(ledger->sql, step, values);
    sql_add(ledger->sql, SQL_STEP(commit));
    struct sql_rows *rows = sql_send(ledger->sql, fault) ? sql_take(ledger->sql, mark, fault) : NULL;
    if (rows != NULL && !sql_committed(ledger->sql, mark + 1, fault))
        sql_rows_free(&rows);
    ledger_finish(ledger);
    if (rows == NULL)
        ledger_add_remedy(ledger, role, fault);
    return rows;
}
