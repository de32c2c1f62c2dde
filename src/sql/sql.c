/* SPDX-License-Identifier: ISC */
#include "sql/sql.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sql/sql_engine.h"

#define POLL_MS 1000

struct sql_added {
    enum sql_step step; /* SQL_STEPS: a statement configured by the site */
    int64_t took_us;    /* if executed when added; for the debug log */
};

struct sql {
    const struct sql_engine *engine;
    struct sql_session *session;
    struct sql_added *added; /* [added_size], by mark */
    size_t added_size;
    size_t count, taken; /* steps of the batch: added, and their results read */
    bool stopped;        /* a result was an error: there are no more */
    size_t logged;       /* the debug log has results before this mark */
    bool failed;         /* the debug log has the batch's failure */
};

struct sql *sql_open(const struct config *config, const char *application, struct error *error)
{
    const struct sql_engine *engine = sql_load(config, error);
    struct sql_session *session = engine != NULL ? engine->open(config, application, error) : NULL;
    if (engine != NULL && session == NULL)
        sql_add_login_hint(engine, config, SQL_DELIVERY, error);
    if (engine != NULL && debug_sql)
        sql_debug_opened(engine, config, session != NULL, error);
    if (session == NULL)
        return NULL;
    struct sql *sql = base_alloc(sizeof(*sql));
    *sql = (struct sql){.engine = engine, .session = session};
    return sql;
}

void sql_close(struct sql **sql)
{
    if (*sql == NULL)
        return;
    (*sql)->engine->close((*sql)->session);
    base_free(&(*sql)->added);
    base_free(sql);
}

bool sql_usable(const struct sql *sql)
{
    return sql != NULL && sql->engine->usable(sql->session);
}

bool sql_in_transaction(const struct sql *sql)
{
    return sql->engine->in_transaction(sql->session);
}

void sql_check_connection(struct sql *sql)
{
    if (sql->engine->check_connection != NULL)
        sql->engine->check_connection(sql->session);
}

void sql_set_timeout(struct sql *sql, int64_t ms)
{
    if (sql->engine->set_timeout != NULL)
        sql->engine->set_timeout(sql->session, ms);
}

void sql_unlimit_result(struct sql *sql)
{
    if (sql->engine->unlimit_result != NULL)
        sql->engine->unlimit_result(sql->session);
}

void sql_wait(struct sql *sql, const struct config *config, int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    if (!sql_usable(sql) || sql->engine->wait == NULL || !sql->engine->wait(sql->session, config, fd))
        (void)poll(&polled, 1, POLL_MS);
}

const char *sql_tls_summary(const struct sql *sql, bool *ret_ok)
{
    *ret_ok = true;
    return sql->engine->tls_summary != NULL ? sql->engine->tls_summary(sql->session, ret_ok) : "a file of this host";
}

/* 0 without a debug log. */
static int64_t now_us(void)
{
    return debug_sql ? g_get_monotonic_time() : 0;
}

/* took_us: when it began. */
static struct sql_added *record_added(struct sql *sql, enum sql_step step)
{
    size_t mark = sql->count++;
    if (mark >= sql->added_size) {
        sql->added_size = mark + 32;
        sql->added = base_realloc(sql->added, sql->added_size * sizeof(*sql->added));
    }
    sql->added[mark] = (struct sql_added){.step = step, .took_us = now_us()};
    return &sql->added[mark];
}

/* For the debug log. */
static const char *step_name(const struct sql *sql, size_t mark)
{
    enum sql_step step = sql->added[mark].step;
    return step != SQL_STEPS ? sql->engine->steps[step].name : "route.account_query";
}

/* Once per batch: only its first failure sets the error. */
static void log_failure(struct sql *sql, const char *name, const struct error *error)
{
    if (!sql->failed)
        sql_debug_failed(name, error);
    sql->failed = true;
}

/* Logs this step's result, and earlier steps as done. rows: NULL if unused. */
static void log_result(struct sql *sql, size_t mark, bool succeeded, const struct sql_rows *rows, int64_t started_us,
                       const struct error *error)
{
    int64_t waited_us = g_get_monotonic_time() - started_us;
    if (!succeeded) {
        log_failure(sql, step_name(sql, mark), error);
        return;
    }
    for (; sql->logged < mark; sql->logged++)
        sql_debug_result(step_name(sql, sql->logged), NULL,
                         sql->engine->in_process ? sql->added[sql->logged].took_us : -1);
    sql_debug_result(step_name(sql, mark), rows,
                     MAX(sql->engine->in_process ? sql->added[mark].took_us : 0, waited_us));
    sql->logged = mark + 1;
}

void sql_add(struct sql *sql, enum sql_step step, const struct sql_value *values)
{
    for (size_t i = 0; i < sql->engine->steps[step].params; i++)
        if (values[i].kind == SQL_KIND_FORGOTTEN)
            abort();
    if (debug_sql)
        sql_debug_added(&sql->engine->steps[step], values);
    struct sql_added *added = record_added(sql, step);
    sql->engine->add(sql->session, step, values);
    added->took_us = now_us() - added->took_us;
}

void sql_add_text(struct sql *sql, const char *text, struct sql_value value)
{
    if (debug_sql)
        sql_debug_added_text(&value);
    struct sql_added *added = record_added(sql, SQL_STEPS);
    sql->engine->add_text(sql->session, text, value);
    added->took_us = now_us() - added->took_us;
}

bool sql_send(struct sql *sql, struct error *error)
{
    bool sent = sql->engine->send == NULL || sql->engine->send(sql->session, error);
    if (debug_sql && !sent)
        log_failure(sql, "batch", error);
    return sent;
}

size_t sql_mark(const struct sql *sql)
{
    return sql->count;
}

/* Returns the result of the step with this mark, after those of the steps before it; NULL: one of them failed. */
static struct sql_rows *read_until(struct sql *sql, size_t mark, struct error *error)
{
    struct sql_rows *rows = NULL;
    if (mark < sql->taken || mark >= sql->count)
        abort(); /* read before, or not added */
    while (sql->taken <= mark && !sql->stopped) {
        sql_rows_free(&rows);
        rows = sql->engine->next(sql->session, error);
        sql->stopped = rows == NULL;
        sql->taken += rows != NULL;
    }
    return rows;
}

struct sql_rows *sql_get_result(struct sql *sql, size_t mark, struct error *error)
{
    int64_t started_us = now_us();
    struct sql_rows *rows = read_until(sql, mark, error);
    if (debug_sql)
        log_result(sql, mark, rows != NULL, rows, started_us, error);
    enum sql_step step = sql->added[mark].step;
    if (rows == NULL || step == SQL_STEPS)
        return rows;
    const struct sql_step_text *text = &sql->engine->steps[step];
    if (text->column_kinds[0] != '\0' && rows->columns != strlen(text->column_kinds)) {
        error_set(error, "database: %zu columns in answer to %s, instead of %zu", rows->columns, text->name,
                  strlen(text->column_kinds));
        sql_rows_free(&rows);
    }
    return rows;
}

bool sql_succeeded(struct sql *sql, size_t mark, struct error *error)
{
    int64_t started_us = now_us();
    if (mark <= sql->taken)
        return true;
    struct sql_rows *last OD_CLEANUP(sql_rows_free) = read_until(sql, mark - 1, error);
    if (debug_sql)
        log_result(sql, mark - 1, last != NULL, NULL, started_us, error);
    return last != NULL;
}

bool sql_committed(struct sql *sql, size_t mark, struct error *error)
{
    int64_t started_us = now_us();
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = read_until(sql, mark, error);
    bool committed = rows != NULL && (sql->engine->committed == NULL || sql->engine->committed(sql->session, error));
    if (debug_sql)
        log_result(sql, mark, committed, NULL, started_us, error);
    return committed;
}

bool sql_finish(struct sql *sql)
{
    sql->count = sql->taken = sql->logged = 0;
    sql->stopped = sql->failed = false;
    return sql->engine->finish(sql->session);
}

bool sql_script(struct sql *sql, const char *text, struct error *error)
{
    if (debug_sql)
        debug_line("sql: a script of %zu bytes", strlen(text));
    return sql->engine->script(sql->session, text, error);
}
