/* SPDX-License-Identifier: ISC
 *
 * The rule by which a refused account is tried again. Seen to fail: with the longest wait although the server opens others, and with
 * an uncertain refusal counted from the first on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
/* login_backoff.c by a clock of ours */
static int64_t now_ms = 1000000;
#define base_now_ms() now_ms
#include "delivery/login_backoff.c"

static struct config config;

/* One more refusal, after this many, of which the last is older than its wait. Returns how long the account is held then. */
static int64_t held_after(int64_t before, const char *code, bool others_open)
{
    struct refusals *refusals OD_CLEANUP(login_backoff_free) = login_backoff_new();
    struct ledger_refusal known = {.refusals = before,
                                   .age_ms = LOGIN_BACKOFF_MAX_MS + 1,
                                   .wait_ms = LOGIN_BACKOFF_MAX_MS};
    struct error error = {.text = "no"};
    strcpy(error.code, code);
    if (before > 0)
        login_backoff_learn(refusals, &config, "lisa", &known);
    assert_false(login_backoff_active(refusals, &config, "lisa", &error));
    login_backoff_failed(refusals, &config, "lisa", others_open, &error);
    assert_false(login_backoff_active(refusals, &config, "scuba", &error));
    if (!login_backoff_active(refusals, &config, "lisa", &error))
        return 0;
    const char *seconds = strstr(error.text, "again in ");
    assert_non_null(seconds);
    return strtoll(seconds + strlen("again in "), NULL, 10);
}

static void test_waits(void **state)
{
    static const struct {
        int64_t before;
        const char *code;
        bool others_open;
        int64_t seconds;
    } cases[] = {
        {0, MAILBOX_REFUSED, false, 60},
        {1, MAILBOX_REFUSED, false, 120},
        {9, MAILBOX_REFUSED, false, 300},
        {0, MAILBOX_REFUSED, true, 60},
        {4, MAILBOX_REFUSED, true, 960},
        {5, MAILBOX_REFUSED, true, 1800},
        {900, MAILBOX_REFUSED, true, 1800},
        {0, MAILBOX_TOO_MANY_SESSIONS, true, 0},
        {1, MAILBOX_TOO_MANY_SESSIONS, true, 60},
        {9, MAILBOX_TOO_MANY_SESSIONS, true, 300},
        {9, MAILBOX_LIMIT, true, 0},
        {9, MAILBOX_TIMED_OUT, true, 0},
        {9, MAILBOX_UNREACHABLE, true, 0},
        {9, "", true, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(held_after(cases[i].before, cases[i].code, cases[i].others_open), cases[i].seconds);
}

/* Mail every two seconds for an account whose refusal is uncertain. */
static void test_steady_mail(void **state)
{
    struct refusals *refusals OD_CLEANUP(login_backoff_free) = login_backoff_new();
    struct error error = {.text = "no", .code = MAILBOX_TOO_MANY_SESSIONS};
    (void)state;
    for (int64_t seconds = 0; seconds < 10; seconds += 2, now_ms += 2000) {
        login_backoff_failed(refusals, &config, "lisa", true, &error);
        assert_false(login_backoff_active(refusals, &config, "lisa", &error));
    }
    login_backoff_failed(refusals, &config, "lisa", true, &error);
    assert_true(login_backoff_active(refusals, &config, "lisa", &error));
    now_ms += LOGIN_BACKOFF_FIRST_MS - 1;
    assert_true(login_backoff_active(refusals, &config, "lisa", &error));
    now_ms++;
    assert_false(login_backoff_active(refusals, &config, "lisa", &error));
}

/* Which logins are refused for reasons that say little about the account. */
static void test_commands_and_one_login_for_all(void **state)
{
    static char set[] = "set", inbox[] = "%{user}", empty[] = "", plain[] = "INBOX";
    (void)state;
    config.imap.command = set;
    assert_int_equal(held_after(9, MAILBOX_REFUSED, true), 0);
    config.imap.command = empty;
    config.imap.password_command = set;
    assert_int_equal(held_after(0, MAILBOX_REFUSED, true), 0);
    assert_int_equal(held_after(1, MAILBOX_REFUSED, true), 60);
    assert_int_equal(held_after(9, MAILBOX_REFUSED, true), 300);
    config.imap.password_command = empty;
    config.imap.user = set;
    config.route.inbox = inbox;
    assert_int_equal(held_after(9, MAILBOX_REFUSED, true), 0);
    config.route.inbox = plain;
    assert_int_equal(held_after(0, MAILBOX_REFUSED, true), 60);
    config.imap.user = empty;
}

static void test_success_forgets(void **state)
{
    struct refusals *refusals OD_CLEANUP(login_backoff_free) = login_backoff_new();
    struct error error = {.text = "no", .code = MAILBOX_REFUSED};
    (void)state;
    login_backoff_failed(refusals, &config, "lisa", false, &error);
    assert_true(login_backoff_active(refusals, &config, "lisa", &error));
    login_backoff_succeeded(refusals, &config, "lisa");
    assert_false(login_backoff_active(refusals, &config, "lisa", &error));
}

int main(void)
{
    static char empty[] = "", host[] = "imap.example.org";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_steady_mail),
        cmocka_unit_test(test_commands_and_one_login_for_all),
        cmocka_unit_test(test_success_forgets),
    };
    config.imap.user = config.imap.master_user = config.imap.command = config.imap.password_command = empty;
    config.imap.password_file = empty;
    config.imap.host = host;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
