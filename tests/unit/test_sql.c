/* SPDX-License-Identifier: ISC
 *
 * The texts of steps, and rows; and that text becomes valid UTF-8 of limited size. Seen to fail with: a cut within a
 * character; a cut only before it is made valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "sql/sql_value.h"

#define BAD "\xef\xbf\xbd"

static void test_text_fit(void **state)
{
    static const struct {
        const char *text;
        size_t max;
        const char *fit; /* NULL: unchanged */
    } cases[] = {
        {"", 0, NULL},
        {"abc", 3, NULL},
        {"gr\xc3\xbc\xc3\x9f", 6, NULL},
        {"abc", 2, "ab"},
        {"abc", 0, ""},
        {"gr\xc3\xbc\xc3\x9f", 5, "gr\xc3\xbc"},
        {"gr\xc3\xbc", 3, "gr"},
        {"\xf0\x9f\x90\x9f", 3, ""},
        {"\xff@x", 9, BAD "@x"},
        {"\xff@x", 4, BAD "@"},
        {"\xff@x", 2, ""},
        {"a\xff\xff\xff\xff\xff", 6, "a" BAD},
        {"\x80\x80\x80\x80", 3, ""},
        {"\xed\xa0\x80", 99, BAD BAD BAD},
        {"a\xe2\x82", 99, "a" BAD BAD},
        {"\xf4\x90\x80\x80", 12, BAD BAD BAD BAD},
        {"\xc0\x80", 99, BAD BAD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *fit OD_CLEANUP(base_free) = sql_value_truncate(cases[i].text, cases[i].max);
        assert_int_equal(fit != NULL, cases[i].fit != NULL);
        if (fit != NULL)
            assert_string_equal(fit, cases[i].fit);
    }
}

/* Every cut of every string made of some bytes of each kind. */
static void test_text_fit_always(void **state)
{
    static const char bytes[] = {'a', '"', (char)0xc3, (char)0xbc, (char)0xe2, (char)0x82, (char)0xf0, (char)0xff};
    (void)state;
    for (unsigned long number = 0; number < 8 * 8 * 8 * 8 * 8; number++) {
        char text[6] = "";
        for (size_t i = 0; i < 5; i++)
            text[i] = bytes[number >> (3 * i) & 7];
        for (size_t max = 0; max < 17; max++) {
            char *fit OD_CLEANUP(base_free) = sql_value_truncate(text, max);
            const char *sent = fit != NULL ? fit : text;
            assert_true(g_utf8_validate(sent, -1, NULL));
            assert_true(strlen(sent) <= max);
        }
    }
}

static void expect_text(const char *text, const struct sql_value *values, const char *sql, size_t count,
                        const size_t *order)
{
    struct sql_value found[SQL_VALUES_MAX];
    size_t found_count = 99;
    char *rendered OD_CLEANUP(base_free) = sql_text_render(text, values, found, &found_count);
    assert_string_equal(rendered, sql);
    assert_int_equal(found_count, count);
    for (size_t i = 0; i < count; i++)
        assert_true(found[i].kind == values[order[i]].kind && found[i].number == values[order[i]].number);
}

static void test_values(void **state)
{
    (void)state;
    const struct sql_value values[] = {SQL_NUMBER(1), SQL_NULL, SQL_TEXT("x")};
    expect_text("COMMIT", values, "COMMIT", 0, NULL);
    expect_text("a = \00102::text AND b = \00100", values, "a = $1::text AND b = $2", 2, (const size_t[]){2, 0});
    expect_text("\00101, \00102, \00101", values, "$1, $2, $1", 2, (const size_t[]){1, 2});
    struct sql_value many[11];
    for (int i = 0; i < 11; i++)
        many[i] = SQL_NUMBER(i);
    static const size_t order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    expect_text("\00100\00101\00102\00103\00104\00105\00106\00107\00108\00109 \00110", many,
                "$1$2$3$4$5$6$7$8$9$10 $11", 11, order);
}

static void test_lines(void **state)
{
    (void)state;
    const struct sql_value there[] = {SQL_NUMBER(1), SQL_TEXT("x")}, missing[] = {SQL_NULL, SQL_TEXT("x")};
    static const char text[] = "SELECT 1\n\00200AND a = \00100\nAND b = \00101";
    expect_text(text, there, "SELECT 1\nAND a = $1\nAND b = $2", 2, (const size_t[]){0, 1});
    expect_text(text, missing, "SELECT 1\n\nAND b = $1", 1, (const size_t[]){1});
    expect_text("\00200last", missing, "", 0, NULL);
}

static void test_rows(void **state)
{
    (void)state;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = sql_rows_new(3);
    sql_rows_add_text(rows, "-7");
    sql_rows_add(rows, "true", 1);
    sql_rows_add_text(rows, NULL);
    assert_int_equal(rows->count, 1);
    assert_int_equal(sql_number(rows, 0, 0), -7);
    assert_true(sql_bool(rows, 0, 1));
    assert_false(sql_bool(rows, 0, 0));
    assert_true(sql_is_null(rows, 0, 2));
    assert_false(sql_is_null(rows, 0, 1));
    assert_string_equal(sql_text(rows, 0, 2), "");
    assert_int_equal(sql_number(rows, 0, 2), 0);
    assert_null(sql_copy(rows, 0, 2));
    char *copy OD_CLEANUP(base_free) = sql_copy(rows, 0, 0);
    assert_string_equal(copy, "-7");
}

static void expect_first(const struct sql_rows *rows, const char *expected)
{
    g_autoptr(GString) all = g_string_new(NULL);
    for (size_t row = 0; row < rows->count; row++)
        g_string_append_printf(all, "%s.", sql_text(rows, row, 0));
    assert_string_equal(all->str, expected);
}

static void test_rows_together(void **state)
{
    (void)state;
    struct sql_rows *all OD_CLEANUP(sql_rows_free) = NULL;
    for (int i = 0; i < 100; i++) {
        char *text OD_CLEANUP(base_free) = base_printf("%d", i);
        struct sql_rows *more = sql_rows_new(2);
        sql_rows_name(more, 1, "b", SQL_TYPE_NUMBER);
        sql_rows_add_text(more, text);
        sql_rows_add(more, "a\0b", i == 0 ? 3 : 0);
        sql_rows_join(&all, &more);
        assert_null(more);
    }
    assert_string_equal(all->names[1], "b");
    assert_int_equal(all->types[1], SQL_TYPE_NUMBER);
    assert_memory_equal(all->cells[1].data, "a\0b", 4);
    assert_false(sql_is_null(all, 1, 1));
    for (int i = 0; i < 97; i++)
        sql_rows_remove(all, 1);
    expect_first(all, "0.98.99.");
    sql_rows_remove(all, 2);
    expect_first(all, "0.98.");
    struct sql_rows *none = sql_rows_new(2);
    sql_rows_join(&all, &none);
    expect_first(all, "0.98.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_fit), cmocka_unit_test(test_text_fit_always),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_lines),
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_rows_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
