/* SPDX-License-Identifier: ISC
 *
 * Names that may be of one mailbox, whatever bytes they have.
 *
 * Seen to fail with: no separator required before the shorter name; INBOX with a prefix; letter case that counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alias.h"

static const struct {
    const char *a, *b;
    bool possible;
} pairs[] = {
    {"Work", "Work", true},
    {"Work", "work", true},
    {"Work", "INBOX.Work", true},
    {"Work", "Mail/Work", true},
    {"a.b", "a/b", true},
    {"a.b", "INBOX/a/b", true},
    {"\\Sent", "Work", true},
    {"\\Sent", "\\Sent", true},
    {"Caf\xc3\xa9", "CAFE\xcc\x81", true}, /* composed, and decomposed */
    {"\xff", "INBOX.\xff", true},
    {"INBOX", "inbox", true},
    {"INBOX", "\\Sent", false},
    {"INBOX", "INBOX.INBOX", false},
    {"Work", "Homework", false},
    {"Work", "Work.old", false},
    {"Work", "Play", false},
    {"", "Work", false},
};

static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (alias_possible(pairs[i].a, pairs[i].b) != pairs[i].possible ||
            alias_possible(pairs[i].b, pairs[i].a) != pairs[i].possible)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs)};
    return cmocka_run_group_tests_name("alias", tests, NULL, NULL);
}
