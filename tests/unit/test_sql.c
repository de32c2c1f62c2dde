/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sql/sql_rows.h"
#include "sql/sql_text.h"

static void expect_text(const char *text, const struct sql_value *values, const char *sql, size_t count,
                        const size_t *order)
{
    size_t found[SQL_VALUES_MAX], found_count = 99;
    char *rendered OD_CLEANUP(base_free) = sql_text_render(text, values, found, &found_count);
    assert_string_equal(rendered, sql);
    assert_int_equal(found_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i], order[i]);
}

static void test_values(void **state)
{
    (void)state;
    const struct sql_value values[] = {SQL_NUMBER(1), SQL_NONE, SQL_TEXT("x")};
    expect_text("COMMIT", values, "COMMIT", 0, NULL);
    expect_text("a = \00102::text AND b = \00100", values, "a = $1::text AND b = $2", 2, (const size_t[]){2, 0});
    expect_text("\00101, \00102, \00101", values, "$1, $2, $1", 2, (const size_t[]){1, 2});
}

static void test_lines(void **state)
{
    (void)state;
    const struct sql_value there[] = {SQL_NUMBER(1), SQL_TEXT("x")}, missing[] = {SQL_NONE, SQL_TEXT("x")};
    static const char text[] = "SELECT 1\n\00200AND a = \00100\nAND b = \00101";
    expect_text(text, there, "SELECT 1\nAND a = $1\nAND b = $2", 2, (const size_t[]){0, 1});
    expect_text(text, missing, "SELECT 1\n\nAND b = $1", 1, (const size_t[]){1});
    expect_text("\00200last", missing, "", 0, NULL);
}

static void test_rows(void **state)
{
    (void)state;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_rows_new(1, 3);
    rows->cells[0] = (struct sql_cell){"-7", 2};
    rows->cells[1] = (struct sql_cell){"t", 1};
    assert_int_equal(sql_number(rows, 0, 0), -7);
    assert_true(sql_truth(rows, 0, 1));
    assert_false(sql_truth(rows, 0, 0));
    assert_true(sql_is_none(rows, 0, 2));
    assert_false(sql_is_none(rows, 0, 1));
    assert_string_equal(sql_text(rows, 0, 2), "");
    assert_int_equal(sql_number(rows, 0, 2), 0);
    assert_null(sql_copy(rows, 0, 2));
    char *copy OD_CLEANUP(base_free) = sql_copy(rows, 0, 0);
    assert_string_equal(copy, "-7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
