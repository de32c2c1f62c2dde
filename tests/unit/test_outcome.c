/* SPDX-License-Identifier: ISC
 *
 * The contract with Postfix: exit status, code and LMTP reply of every outcome agree with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delivery/outcome.h"

static const struct {
    enum outcome outcome;
    int exit_status;
    const char *dsn;
    int lmtp;
    const char *status;
} expected[] = {
    {OUTCOME_STORED, 0, "2.1.5", 250, "stored"},
    {OUTCOME_QUARANTINED, 0, "2.1.5", 250, "stored"},
    {OUTCOME_DUPLICATE, 0, "2.1.5", 250, "duplicate"},
    {OUTCOME_BUSY, 75, "4.3.0", 451, "deferred"},
    {OUTCOME_TEMPFAIL, 75, "4.3.0", 451, "deferred"},
    {OUTCOME_CONFIG, 75, "4.3.5", 451, "deferred"},
    {OUTCOME_DATABASE, 75, "4.3.0", 451, "deferred"},
    {OUTCOME_MAILBOX, 75, "4.4.1", 451, "deferred"},
    {OUTCOME_OVERQUOTA_DEFER, 75, "4.2.2", 452, "deferred"},
    {OUTCOME_OVERQUOTA_BOUNCE, 69, "5.2.2", 552, "bounced"},
    {OUTCOME_UNKNOWN_BOUNCE, 67, "5.1.1", 550, "bounced"},
    {OUTCOME_UNKNOWN_DEFER, 75, "4.1.1", 450, "deferred"},
    {OUTCOME_TOO_LARGE, 69, "5.3.4", 552, "bounced"},
    {OUTCOME_REFUSED_DEFER, 75, "4.6.0", 451, "deferred"},
    {OUTCOME_REFUSED_BOUNCE, 65, "5.6.0", 554, "bounced"},
    {OUTCOME_DELETED, 0, "2.1.5", 250, "duplicate"},
    {OUTCOME_MISSING, 65, "5.3.0", 554, "bounced"},
};

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(sizeof(expected) / sizeof(expected[0]), OUTCOME_COUNT);
    for (size_t i = 0; i < OUTCOME_COUNT; i++) {
        const struct outcome_row *row = outcome_row(expected[i].outcome);
        assert_int_equal(row->exit_status, expected[i].exit_status);
        assert_string_equal(row->dsn, expected[i].dsn);
        assert_int_equal(row->lmtp, expected[i].lmtp);
        assert_string_equal(row->status, expected[i].status);
        assert_true(strlen(row->name) > 0);
    }
}

/* Postfix prefers a code at the start of the output to the exit status, and LMTP's first digit to both: they must
 * agree. */
static void test_agreement(void **state)
{
    (void)state;
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        const struct outcome_row *row = outcome_row((enum outcome)i);
        char class = row->exit_status == 0 ? '2' : row->exit_status == 75 ? '4' : '5';
        assert_int_equal(row->dsn[0], class);
        assert_int_equal(row->lmtp / 100, class - '0');
        assert_int_equal(row->final, class != '4');
        assert_int_equal(strcmp(row->status, "deferred") == 0, class == '4');
    }
    assert_ptr_equal(outcome_row((enum outcome)OUTCOME_COUNT), outcome_row(OUTCOME_TEMPFAIL));
    assert_ptr_equal(outcome_row((enum outcome)9999), outcome_row(OUTCOME_TEMPFAIL));
}

static void test_lines(void **state)
{
    struct report report = {.text = ""};
    char line[1024], cut[12];
    (void)state;
    assert_string_equal(report_line(&report, line, sizeof(line)), "4.3.0 internal error");
    report_set(&report, OUTCOME_STORED, "stored uid=%u", 7U);
    assert_string_equal(report_line(&report, line, sizeof(line)), "2.1.5 stored uid=7");
    assert_string_equal(report_line(&report, cut, sizeof(cut)), "2.1.5 store");
    report_set(&report, OUTCOME_TEMPFAIL, "a\r\n5.1.1 b\xff");
    report_line(&report, line, sizeof(line));
    assert_null(strpbrk(line, "\r\n"));
    assert_memory_equal(line, "4.3.0 a", 7);
}

static void test_long_text(void **state)
{
    struct report report;
    char text[2000];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof(text); i += 2)
        memcpy(text + i, "\xc3\xbc", 2);
    text[sizeof(text) - 2] = '\0';
    for (size_t shift = 0; shift < 2; shift++) {
        report_set(&report, OUTCOME_TEMPFAIL, "%s%s", shift ? "x" : "", text);
        size_t length = strlen(report.text);
        assert_in_range(length, sizeof(report.text) - 3, sizeof(report.text) - 1);
        assert_int_equal((length - shift) % 2, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
