/* SPDX-License-Identifier: ISC
 *
 * Text on its way to the database: valid UTF-8 of a bounded size, whatever it was. Seen to fail with: cut in the middle of a
 * character, cut before it is made valid only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "ledger/pg.h"

#define BAD "\xef\xbf\xbd"

static void test_text_fit(void **state)
{
    static const struct {
        const char *text;
        size_t max;
        const char *fit;    /* NULL: goes as it is */
    } cases[] = {
        {"", 0, NULL}, {"abc", 3, NULL}, {"gr\xc3\xbc\xc3\x9f", 6, NULL}, {"abc", 2, "ab"}, {"abc", 0, ""},
        {"gr\xc3\xbc\xc3\x9f", 5, "gr\xc3\xbc"}, {"gr\xc3\xbc", 3, "gr"}, {"\xf0\x9f\x90\x9f", 3, ""},
        {"\xff@x", 9, BAD "@x"}, {"\xff@x", 4, BAD "@"}, {"\xff@x", 2, ""}, {"a\xff\xff\xff\xff\xff", 6, "a" BAD},
        {"\x80\x80\x80\x80", 3, ""}, {"\xed\xa0\x80", 99, BAD BAD BAD}, {"a\xe2\x82", 99, "a" BAD BAD},
        {"\xf4\x90\x80\x80", 12, BAD BAD BAD BAD}, {"\xc0\x80", 99, BAD BAD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *fit OD_CLEANUP(base_free) = pg_text_fit(cases[i].text, cases[i].max);
        assert_int_equal(fit != NULL, cases[i].fit != NULL);
        if (fit != NULL)
            assert_string_equal(fit, cases[i].fit);
    }
}

/* Every cut of every string of some bytes of each kind. */
static void test_text_fit_always(void **state)
{
    static const char bytes[] = {'a', '"', (char)0xc3, (char)0xbc, (char)0xe2, (char)0x82, (char)0xf0, (char)0xff};
    (void)state;
    for (unsigned long number = 0; number < 8 * 8 * 8 * 8 * 8; number++) {
        char text[6] = "";
        for (size_t i = 0; i < 5; i++)
            text[i] = bytes[number >> (3 * i) & 7];
        for (size_t max = 0; max < 17; max++) {
            char *fit OD_CLEANUP(base_free) = pg_text_fit(text, max);
            const char *sent = fit != NULL ? fit : text;
            assert_true(g_utf8_validate(sent, -1, NULL));
            assert_true(strlen(sent) <= max);
        }
    }
}

static void test_array(void **state)
{
    static const char *const items[] = {"a", NULL, "", "\"\\,{}", "\xff\"", "NULL"};
    char *array OD_CLEANUP(base_free) = pg_text_array(items, sizeof(items) / sizeof(items[0]));
    char *none OD_CLEANUP(base_free) = pg_text_array(NULL, 0);
    (void)state;
    assert_string_equal(array, "{\"a\",NULL,\"\",\"\\\"\\\\,{}\",\"" BAD "\\\"\",\"NULL\"}");
    assert_string_equal(none, "{}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_fit), cmocka_unit_test(test_text_fit_always), cmocka_unit_test(test_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
