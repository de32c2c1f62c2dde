/* SPDX-License-Identifier: ISC
 *
 * Parsing of addresses, and the template that turns them into accounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "route/route.h"

static void test_parse(void **state)
{
    static const struct {
        const char *text, *address, *user, *detail, *domain;
    } cases[] = {
        {"scuba@example.org", "scuba@example.org", "scuba", "", "example.org"},
        {"<Scuba@Example.ORG>", "scuba@example.org", "scuba", "", "example.org"},
        {" scuba@example.org\t", "scuba@example.org", "scuba", "", "example.org"},
        {"scuba+Lists@example.org", "scuba@example.org", "scuba", "Lists", "example.org"},
        {"scuba+a+b@example.org", "scuba@example.org", "scuba", "a+b", "example.org"},
        {"scuba+@example.org", "scuba@example.org", "scuba", "", "example.org"},
        {"+x@example.org", "+x@example.org", "+x", "", "example.org"},
        {"a@b@example.org", "a@b@example.org", "a@b", "", "example.org"},
        {"Scuba", "scuba", "scuba", "", ""},
        {"\"doug+two words\"@example.org", "doug@example.org", "doug", "two words", "example.org"},
        {"\"Doug\"@example.org", "doug@example.org", "doug", "", "example.org"},
        {"\"two words+x\"@example.org", "\"two words\"@example.org", "\"two words\"", "x", "example.org"},
        {"<\"a\\\"b@c\\\\+d\"@example.org>", "\"a\\\"b@c\\\\\"@example.org", "\"a\\\"b@c\\\\\"", "d", "example.org"},
        {"\"a@b\"", "\"a@b\"", "\"a@b\"", "", ""},
        {"\"a..b\"@example.org", "\"a..b\"@example.org", "\"a..b\"", "", "example.org"},
        {"\"a.b\"@example.org", "a.b@example.org", "a.b", "", "example.org"},
        {"\"a\"b@example.org", "\"a\"b@example.org", "\"a\"b", "", "example.org"},
        {"\"a@example.org", "\"a@example.org", "\"a", "", "example.org"},
        {"\"a\\", "\"a\\", "\"a\\", "", ""},
        {"\"", "\"", "\"", "", ""},
        {"two words+x@example.org", "two words@example.org", "two words", "x", "example.org"},
        {"scuba+x", "scuba", "scuba", "x", ""},
        {"gr\xc3\xbc\xc3\x9f@example.org", "gr\xc3\xbc\xc3\x9f@example.org", "gr\xc3\xbc\xc3\x9f", "", "example.org"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct address address OD_CLEANUP(address_clear) = {.address = NULL};
        struct error error;
        assert_true(address_parse(cases[i].text, &address, &error));
        assert_string_equal(address.address, cases[i].address);
        assert_string_equal(address.user, cases[i].user);
        assert_string_equal(address.detail, cases[i].detail);
        assert_string_equal(address.domain, cases[i].domain);
    }
}

static void test_refuse(void **state)
{
    char longest[ADDRESS_MAX + 2];
    static const char *const cases[] = {"",
                                        "<>",
                                        "\"\"@x",
                                        "\"\"",
                                        "\"a\"@",
                                        " ",
                                        "@",
                                        "<@example.org>",
                                        "a@",
                                        "a@example.org+b@",
                                        "\"a b\"@c@example.org",
                                        "a\r\nb@x",
                                        "a\x7f@x",
                                        "a\xff@x"};
    struct error error = {.text = ""};
    struct address address = {.address = NULL};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_false(address_parse(cases[i], &address, &error));
        assert_null(address.address);
        assert_true(strlen(error.text) > 0);
    }
    memset(longest, 'a', ADDRESS_MAX + 1);
    longest[ADDRESS_MAX + 1] = '\0';
    assert_false(address_parse(longest, &address, &error));
    longest[ADDRESS_MAX] = '\0';
    assert_true(address_parse(longest, &address, &error));
    address_clear(&address);
    memset(longest, ' ', 2);
    memset(longest + 2, 'a', ADDRESS_MAX - 1); /* blanks are recorded too */
    assert_false(address_parse(longest, &address, &error));
}

static void test_clean(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"a@x", "a@x"},
        {"gr\xc3\xbc@x", "gr\xc3\xbc@x"},
        {"\xff@x", "\xef\xbf\xbd@x"},
        {"a\r\n@x", "a\xef\xbf\xbd\xef\xbf\xbd@x"},
        {"\x7f", "\xef\xbf\xbd"},
        {"", ""},
        {"a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *clean OD_CLEANUP(base_free) = address_clean(cases[i].text);
        assert_string_equal(clean, cases[i].clean);
    }
}

static void test_expand(void **state)
{
    static const struct {
        const char *template, *expanded; /* NULL: refused */
    } cases[] = {
        {"%{address}", "scuba@example.org"},
        {"%{user}", "scuba"},
        {"%{domain}/%{user}", "example.org/scuba"},
        {"%{detail}", "Lists"},
        {"100%%%{user}%%", "100%scuba%"},
        {"fixed", "fixed"},
        {"%u", NULL},
        {"%", NULL},
        {"%{", NULL},
        {"%{user", NULL},
        {"%{users}", NULL},
        {"%{User}", NULL},
    };
    struct error error;
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    (void)state;
    assert_true(address_parse("scuba+Lists@example.org", &address, &error));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *expanded OD_CLEANUP(base_free) = address_expand(cases[i].template, &address, &error);
        char *checked OD_CLEANUP(base_free) = address_expand(cases[i].template, NULL, &error);
        assert_int_equal(expanded != NULL, cases[i].expanded != NULL);
        assert_int_equal(checked != NULL, cases[i].expanded != NULL);
        if (expanded != NULL)
            assert_string_equal(expanded, cases[i].expanded);
        else
            assert_non_null(strstr(error.text, cases[i].template));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_expand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
