/* SPDX-License-Identifier: ISC
 *
 * Suggestions for a mistyped id, and the layout of text in columns.
 *
 * Seen to fail with: the order of equals reversed; a text that contains the other one not considered near;
 * two changes allowed in any word; up to a quarter of a long one; an exchange counted as two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/terminal.h"
#include "cmd/cmd.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define BYTES_MAX 8

static void test_nearest(void **state)
{
    static const struct {
        const char *text;
        const char *candidates[BYTES_MAX], *expected[SUGGEST_MAX];
    } cases[] = {
        {"abc@x", {NULL}, {NULL}},
        {"abcdefgh@x", {"abcdefgx@x", "zzzzzzzz@y", NULL}, {"abcdefgx@x", NULL}},
        {"abcdefgh@x", {"bcdefgh@x", "abcdefghi@x", "abdcefgh@x", NULL}, {"bcdefgh@x", "abcdefghi@x", "abdcefgh@x"}},
        {"abcdefgh@x",
         {"abcdxxgh@x", "abcdefgx@x", "abcdefgh@y", "abcdefg@x", NULL},
         {"abcdefgx@x", "abcdefgh@y", "abcdefg@x"}},
        {"ABC@x", {"abc@X", NULL}, {"abc@X", NULL}},
        {"0815", {"20250801.0815.1@host.example", NULL}, {"20250801.0815.1@host.example", NULL}},
        {"ab", {"zzabzz", NULL}, {NULL}}, /* too short to be significant */
        {"", {"abc", "ab", NULL}, {NULL}},
        {"a@b", {"c@b", "d@e", "a@bcdefgh", NULL}, {"a@bcdefgh", "c@b", NULL}},
        {"18.c@x", {"218.c@x.example", "18.c@x.example", NULL}, {"18.c@x.example", "218.c@x.example", NULL}},
        {"caf\xc3\xa9@x.example", {"cafe@x.example", NULL}, {"cafe@x.example", NULL}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *found[SUGGEST_MAX];
        size_t candidates = 0, expected = 0;
        while (cases[i].candidates[candidates] != NULL)
            candidates++;
        while (expected < SUGGEST_MAX && cases[i].expected[expected] != NULL)
            expected++;
        size_t count = suggest_find(cases[i].candidates, candidates, cases[i].text, found);
        if (count != expected)
            fail_msg("\"%s\": %zu found", cases[i].text, count);
        for (size_t n = 0; n < count; n++)
            assert_string_equal(found[n], cases[i].expected[n]);
    }
}

/* Slips, and words that are merely short or alike. */
static void test_how_near(void **state)
{
    static const struct {
        const char *text, *candidate;
        bool near;
    } cases[] = {
        {"lsit", "list", true},
        {"hlep", "help", true},
        {"lst", "list", true},
        {"listt", "list", true},
        {"lits", "list", true},
        {"shwo", "show", true},
        {"LIST", "list", true},
        {"replya", "replay", true},
        {"rpely", "reply", true},
        {"delvier", "deliver", true},
        {"version", "verison", true},
        {"vreison1", "version1", true},  /* two exchanged */
        {"verzioon", "versions", false}, /* three of eight */
        {"foo", "show", false},
        {"merge", "purge", false},
        {"lost", "list", true},
        {"most", "list", false},
        {"move", "show", false},
        {"print", "list", false},
        {"x", "help", false},
        {"reload", "replay", false},
        {"status", "stats", true},
        {"20250801.4711.abc@mail.example.org", "20250801.4711.abx@mail.example.org", true},
        {"20250801.4711.abc@mail.example.org", "20250801.4722.abx@mail.example.org", true},
        {"20250801.4711.abc@mail.example.org", "20250801.4722.bxy@mail.example.org",
         false}, /* most of it is the host */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *found[SUGGEST_MAX];
        if (suggest_find(&cases[i].candidate, 1, cases[i].text, found) != cases[i].near)
            fail_msg("\"%s\", \"%s\"", cases[i].text, cases[i].candidate);
    }
}

/* Ids may be as long as a header line: their beginnings are compared. */
static void test_long(void **state)
{
    char text[5000];
    const char *candidates[] = {text}, *found[SUGGEST_MAX];
    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    char other[sizeof(text)];
    memcpy(other, text, sizeof(text));
    other[10] = 'b';
    assert_int_equal(suggest_find(candidates, 1, other, found), 1);
    other[300] = '\0';
    assert_int_equal(suggest_find(candidates, 1, other, found), 1);
    assert_int_equal(suggest_find(candidates, 1, "b", found), 0);
}

static void test_columns(void **state)
{
    static const struct {
        const char *text;
        int columns, room;
        size_t fits;
    } cases[] = {
        {"", 0, 5, 0},
        {"abc", 3, 2, 2},
        {"abc", 3, 5, 3},
        {"\xe6\x97\xa5\xe6\x9c\xac", 4, 3, 3},
        {"\xe6\x97\xa5", 2, 1, 0},
        {"e\xcc\x81"
         "a",
         2, 1, 3}, /* the accent stays with its letter */
        {"\033[31mab\033[0m", 2, 1, 6},
        {"\xf0\x9f\x98\x80x", 3, 2, 4},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (terminal_columns(cases[i].text) != cases[i].columns ||
            terminal_truncate(cases[i].text, cases[i].room) != cases[i].fits)
            fail_msg("\"%s\": %d columns, %zu fit", cases[i].text, terminal_columns(cases[i].text),
                     terminal_truncate(cases[i].text, cases[i].room));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_how_near),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
