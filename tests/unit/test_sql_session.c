/* SPDX-License-Identifier: ISC
 *
 * What a session checks of its engine, with an engine of the test's own: an answer with other columns than its step gives is
 * refused, since it would be read by the numbers of columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql.h"
#include "sql/sql_load.h"
#include "sql/sql_rows.h"

struct sql_session {
    size_t added;
    size_t columns; /* of every answer */
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
    (void)step, (void)values;
    it->added++;
}

static void engine_add_text(struct sql_session *it, const char *text, struct sql_value value)
{
    (void)text, (void)value;
    it->added++;
}

static size_t engine_mark(const struct sql_session *it)
{
    return it->added;
}

static struct sql_rows *engine_take(struct sql_session *it, size_t mark, struct error *error)
{
    (void)mark, (void)error;
    return sql_rows_new(1, it->columns);
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
    .mark = engine_mark,
    .take = engine_take,
};

const struct sql_engine *sql_load(const struct config *config, struct error *error)
{
    (void)config, (void)error;
    return &engine;
}

static bool is_taken(struct sql *sql, size_t mark, size_t columns, struct error *error)
{
    session.columns = columns;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_get_result(sql, mark, error);
    return rows != NULL;
}

static void test_columns(void **state)
{
    struct error error = {.text = ""};
    (void)state;
    struct sql *sql OD_CLEANUP(sql_close) = sql_open(NULL, "test", &error);
    assert_non_null(sql);
    sql_add(sql, SQL_STEP_lock_session, NULL);
    sql_add(sql, SQL_STEP_commit, NULL);
    sql_add_text(sql, "SELECT 1", SQL_NULL);
    assert_true(is_taken(sql, 0, 1, &error));
    assert_string_equal(error.text, "");
    assert_false(is_taken(sql, 0, 2, &error));
    assert_string_equal(error.text, "database: 2 columns in answer to lock_session, instead of 1");
    assert_false(is_taken(sql, 0, 0, &error));
    assert_true(is_taken(sql, 1, 0, &error)); /* gives nothing: */
    assert_true(is_taken(sql, 1, 3, &error)); /* it is not read */
    assert_true(is_taken(sql, 2, 3, &error)); /* of the site's own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
