/* SPDX-License-Identifier: ISC
 *
 * Hands everything to the engine. */
#include "sql/sql.h"

#include <stdlib.h>
#include <string.h>

#include "sql/sql_load.h"

struct sql {
    const struct sql_engine *engine;
    struct sql_session *session;
    enum sql_step *added; /* [added_size]: the step of each mark; SQL_STEPS: a statement of the site's own */
    size_t added_size;
};

struct sql *sql_open(const struct config *config, const char *application, struct fault *fault)
{
    const struct sql_engine *engine = sql_load(config, fault);
    struct sql_session *session = engine != NULL ? engine->open(config, application, fault) : NULL;
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

void sql_look(struct sql *sql)
{
    sql->engine->look(sql->session);
}

void sql_set_timeout(struct sql *sql, int64_t ms)
{
    sql->engine->set_timeout(sql->session, ms);
}

void sql_receive_any(struct sql *sql)
{
    sql->engine->receive_any(sql->session);
}

const char *sql_secured(const struct sql *sql, bool *ret_good)
{
    return sql->engine->secured(sql->session, ret_good);
}

static void note_added(struct sql *sql, enum sql_step step)
{
    size_t mark = sql_mark(sql);
    if (mark >= sql->added_size) {
        sql->added_size = mark + 32;
        sql->added = base_realloc(sql->added, sql->added_size * sizeof(*sql->added));
    }
    sql->added[mark] = step;
}

void sql_add(struct sql *sql, enum sql_step step, const struct sql_value *values)
{
    for (size_t i = 0; i < sql->engine->steps[step].takes; i++)
        if (values[i].kind == SQL_KIND_FORGOTTEN)
            abort();
    note_added(sql, step);
    sql->engine->add(sql->session, step, values);
}

void sql_add_text(struct sql *sql, const char *text, struct sql_value value)
{
    note_added(sql, SQL_STEPS);
    sql->engine->add_text(sql->session, text, value);
}

bool sql_send(struct sql *sql, struct fault *fault)
{
    return sql->engine->send(sql->session, fault);
}

size_t sql_mark(const struct sql *sql)
{
    return sql->engine->mark(sql->session);
}

struct sql_rows *sql_take(struct sql *sql, size_t mark, struct fault *fault)
{
    struct sql_rows *rows = sql->engine->take(sql->session, mark, fault);
    enum sql_step step = mark < sql->added_size ? sql->added[mark] : SQL_STEPS;
    if (rows == NULL || step == SQL_STEPS)
        return rows;
    const struct sql_step_text *text = &sql->engine->steps[step];
    if (text->gives[0] != '\0' && rows->columns != strlen(text->gives)) {
        fault_set(fault, "database: %zu columns in answer to %s, instead of %zu", rows->columns, text->name,
                  strlen(text->gives));
        sql_rows_free(&rows);
    }
    return rows;
}

bool sql_passed(struct sql *sql, size_t mark, struct fault *fault)
{
    return sql->engine->passed(sql->session, mark, fault);
}

bool sql_committed(struct sql *sql, size_t mark, struct fault *fault)
{
    return sql->engine->committed(sql->session, mark, fault);
}

bool sql_finish(struct sql *sql)
{
    return sql->engine->finish(sql->session);
}

bool sql_script(struct sql *sql, const char *text, struct fault *fault)
{
    return sql->engine->script(sql->session, text, fault);
}
