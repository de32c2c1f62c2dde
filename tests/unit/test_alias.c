/* SPDX-License-Identifier: ISC
 *
 * Names that may be of one mailbox: in either order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

static const struct {
    const char *a, *b;
    bool possible;
} rows[] = {
    {"Sent", "Sent", true},
    {"Sent", "INBOX.Sent", true},
    {"Sent", "INBOX/Sent", true},
    {"Sent", "a|b\\Sent", true},
    {"Lists/work", "INBOX.Lists.work", true},
    {"Lists/work", "Lists^work", true},
    {"Lists/work", "Lists/play", false},
    {"Lists/work", "Lists", false},
    {"Lists", "INBOX.Lists.work", false},
    {"Sent", "Resent", false},
    {"Sent", "Sent2", false},
    {"Sent", "Gesendet", false},
    {"sent", "SENT", true},
    {"Gel\u00f6scht", "inbox/GEL\u00d6SCHT", true},
    {"Gel\u00f6scht", "Gelo\u0308scht", true},
    {"Gel\u00f6scht", "Geloscht", false},
    {"\xff", "INBOX.\xff", true},
    {"\\Sent", "Gesendet", true},
    {"\\sent", "INBOX.Gesendet", true},
    {"INBOX", "inbox", true},
    {"INBOX", "\\Sent", false},
    {"INBOX", "Sent", false},
    {"INBOX", "INBOX.INBOX", false},
    {"INBOX", "user/INBOX", false},
};

static void test_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (same_mailbox_possible(rows[i].a, rows[i].b) != rows[i].possible ||
            same_mailbox_possible(rows[i].b, rows[i].a) != rows[i].possible)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
