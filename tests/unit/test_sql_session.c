/* SPDX-License-Identifier: ISC
 *
 * What a session checks of its engine, with an engine of the test's own: an answer with other columns than its step gives is
 * refused, since it would be read by the numbers of columns. Results are read in order, up to the first failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"

struct sql_session {
    size_t columns; /* of every answer */
    size_t fails;   /* this result of a batch, from 0 */
    size_t read;    /* results of this batch */
};

static struct sql_session session;

static struct sql_session *engine_open(const struct config *config, const char *application, struct error *error)
{
    (void)config, (void)application, (void)error;
    return &session;
}

static void engine_close(struct sql_session *it)
{
    (void)it;
}

static void engine_add(struct sql_session *it, enum sql_step step, const struct sql_value *values)
{
    (void)it, (void)step, (void)values;
}

static void engine_add_text(struct sql_session *it, const char *text, struct sql_value value)
{
    (void)it, (void)text, (void)value;
}

static struct sql_rows *engine_next(struct sql_session *it, struct error *error)
{
    if (it->read++ != it->fails)
        return sql_rows_new(it->columns);
    error_set(error, "it fails");
    return NULL;
}

static bool engine_finish(struct sql_session *it)
{
    it->read = 0;
    return true;
}

static const struct sql_step_text texts[SQL_STEPS] = {
    [SQL_STEP_lock_session] = {.name = "lock_session", .column_kinds = "t"},
    [SQL_STEP_commit] = {.name = "commit", .column_kinds = ""},
};

static const struct sql_engine engine = {
    .steps = texts,
    .open = engine_open,
    .close = engine_close,
    .add = engine_add,
    .add_text = engine_add_text,
    .next = engine_next,
    .finish = engine_finish,
};

const struct sql_engine *sql_load(const struct config *config, struct error *error)
{
    (void)config, (void)error;
    return &engine;
}

/* In a batch: three steps, of which the one with this mark is read. */
static bool is_taken(struct sql *sql, size_t mark, size_t columns, struct error *error)
{
    session.columns = columns;
    session.fails = SIZE_MAX;
    sql_add(sql, SQL_STEP_lock_session, NULL);
    sql_add(sql, SQL_STEP_commit, NULL);
    assert_int_equal(sql_mark(sql), 2);
    sql_add_text(sql, "SELECT 1", SQL_NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_get_result(sql, mark, error);
    assert_int_equal(session.read, mark + 1);
    assert_true(sql_finish(sql));
    return rows != NULL;
}

static void test_columns(void **state)
{
    struct error error = {.text = ""};
    (void)state;
    struct sql *sql OD_CLEANUP(sql_close) = sql_open(NULL, "test", &error);
    assert_non_null(sql);
    assert_true(is_taken(sql, 0, 1, &error));
    assert_string_equal(error.text, "");
    assert_false(is_taken(sql, 0, 2, &error));
    assert_string_equal(error.text, "database: 2 columns in answer to lock_session, instead of 1");
    assert_false(is_taken(sql, 0, 0, &error));
    assert_true(is_taken(sql, 1, 0, &error)); /* gives nothing: */
    assert_true(is_taken(sql, 1, 3, &error)); /* it is not read */
    assert_true(is_taken(sql, 2, 3, &error)); /* of the site's own */
}

/* After the first failure of a batch nothing is read, and its error stays. */
static void test_failure(void **state)
{
    struct error error = {.text = ""};
    (void)state;
    struct sql *sql OD_CLEANUP(sql_close) = sql_open(NULL, "test", &error);
    session = (struct sql_session){.fails = 1};
    for (int i = 0; i < 4; i++)
        sql_add(sql, SQL_STEP_commit, NULL);
    assert_true(sql_send(sql, &error));
    assert_true(sql_succeeded(sql, 1, &error));
    assert_false(sql_committed(sql, 1, &error));
    assert_string_equal(error.text, "it fails");
    error_set(&error, "first");
    assert_null(sql_get_result(sql, 2, &error));
    assert_false(sql_succeeded(sql, 4, &error));
    assert_true(sql_succeeded(sql, 1, &error));
    assert_string_equal(error.text, "first");
    assert_int_equal(session.read, 2);
    assert_true(sql_finish(sql));
    assert_int_equal(sql_mark(sql), 0);
    sql_add(sql, SQL_STEP_commit, NULL);
    assert_true(sql_committed(sql, 0, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns), cmocka_unit_test(test_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
