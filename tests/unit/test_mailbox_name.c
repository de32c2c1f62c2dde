/* SPDX-License-Identifier: ISC
 *
 * Mailbox names in modified UTF-7, and which Message-IDs can be searched for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mailbox/mailbox.h"

static void names_are_encoded(void **state)
{
    static const struct {
        const char *name;
        const char *encoded;
    } cases[] = {
        {"INBOX", "INBOX"},
        {"a b/c.d~\"\\", "a b/c.d~\"\\"},
        {"&", "&-"},
        {"R&D", "R&-D"},
        {"&AOk-", "&-AOk-"},
        {"Entw\xc3\xbcrfe", "Entw&APw-rfe"},
        {"\xc3\xa9", "&AOk-"},
        {"\xc3\xa9\xc3\xa9", "&AOkA6Q-"},
        {"\xc3\xa9\xc3\xa9\xc3\xa9", "&AOkA6QDp-"},
        {"~peter/mail/\xe5\x8f\xb0\xe5\x8c\x97/\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
         "~peter/mail/&U,BTFw-/&ZeVnLIqe-"}, /* RFC 3501, 5.1.3 */
        {"\xf0\x9f\x98\x80", "&2D3eAA-"},
        {"x\xf0\x9f\x98\x80y", "x&2D3eAA-y"},
        {"\xc3\xa4&\xc3\xb6", "&AOQ-&-&APY-"},
        {"\xef\xbf\xbf", "&,,8-"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct error error = {.text = "untouched"};
        char *encoded = mailbox_name_encode(cases[i].name, &error);
        assert_non_null(encoded);
        assert_string_equal(encoded, cases[i].encoded);
        assert_string_equal(error.text, "untouched");
        free(encoded);
    }
}

static void bad_names_are_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "a\rb",
        "a\nb",
        "a\r\nX LOGOUT",
        "\t",
        "\x1b",
        "\x7f",
        "\xc2\x85", /* U+0085, a control character */
        "\xff",
        "a\xc3",
        "\xed\xa0\x80" /* a lone surrogate */,
        "\xc0\xaf" /* overlong */,
        "\xf4\x90\x80\x80" /* beyond U+10FFFF */,
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct error error = {.text = ""};
        assert_null(mailbox_name_encode(cases[i], &error));
        assert_true(error.text[0] != '\0');
    }
}

static void names_have_a_limit(void **state)
{
    char name[1002];
    struct error error = {.text = ""};
    (void)state;
    for (size_t i = 0; i < 1000; i += 2)
        memcpy(name + i, i % 4 == 0 ? "\xc3\xa9" : "&&", 2);
    name[1000] = '\0';
    char *encoded = mailbox_name_encode(name, &error);
    assert_non_null(encoded);
    assert_int_equal(strlen(encoded), 250 * strlen("&AOk-&-&-"));
    free(encoded);
    memcpy(name + 1000, "a", 2);
    assert_null(mailbox_name_encode(name, &error));
    assert_non_null(strstr(error.text, "1000"));
}

static void ids_to_search_for(void **state)
{
    static const struct {
        const char *id;
        bool folded;
        bool searchable;
    } cases[] = {
        {"a@b", false, true},          {"20231114.$Ab{}[]()*%!=+/~?@mail.example.org", false, true},
        {"a@b", true, false},          {"", false, false},
        {"a b@c", false, false},       {"a\tb@c", false, false},
        {"a\r\n@c", false, false},     {"=?utf-8?q?abc?=@x", false, false},
        {"x=?y", false, false},        {"x=", false, true},
        {"\"a\"@b", false, false},     {"a\\b@c", false, false},
        {"a\xc3\xa9@b", false, false}, {"a\x7f@b", false, false},
    };
    char id[201];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(mailbox_searchable(cases[i].id, strlen(cases[i].id), cases[i].folded), cases[i].searchable);
    assert_false(mailbox_searchable("a\0b", 3, false));
    memset(id, 'x', sizeof(id));
    assert_true(mailbox_searchable(id, 200, false));
    assert_false(mailbox_searchable(id, 201, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_encoded),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(names_have_a_limit),
        cmocka_unit_test(ids_to_search_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
