/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/ledger_internal.h"

#define COPY_COLUMNS (EXPLAIN_COPIES_REPEATED + 1)
#define TRY_COLUMNS (EXPLAIN_ATTEMPTS_IMAP_MS + 1)
#define DELIVERY_COLUMNS (EXPLAIN_DELIVERIES_IS_COMPLETE + 1)

/* Columns not named are NULL. */
static struct sql_rows *rows_of(size_t count, size_t columns, const char *const *cells)
{
    struct sql_rows *rows = sql_rows_new(columns);
    for (size_t i = 0; i < count * columns; i++)
        sql_rows_add_text(rows, cells[i]);
    return rows;
}

#define ROWS(columns, ...) \
    rows_of(sizeof((const char *const[][columns]){__VA_ARGS__}) / sizeof(const char *const[columns]), columns, \
            (const char *const *)(const char *const[][columns]){__VA_ARGS__})
#define NO_ROWS(columns) sql_rows_new(columns)
#define NO_OTHERS ROWS(2, {"0", NULL})

/* Frees the rows. sentences: ends with NULL. */
static void expect(struct ledger_explanation why, const char *const *sentences)
{
    GPtrArray *found = ledger_explain(&why);
    for (guint i = 0; i < found->len && sentences[i] != NULL; i++)
        assert_string_equal(g_ptr_array_index(found, i), sentences[i]);
    size_t count = 0;
    while (sentences[count] != NULL)
        count++;
    assert_int_equal(found->len, count);
    g_ptr_array_unref(found);
    sql_rows_free(&why.copies);
    sql_rows_free(&why.tries);
    sql_rows_free(&why.deliveries);
    sql_rows_free(&why.others);
}

#define EXPECT(why, ...) expect(why, (const char *const[]){__VA_ARGS__, NULL})

/* Releases of clang-format differ about these. */
/* clang-format off */
#define TRY(delivery_, claim_, at_, us_, outcome_, ...) \
    { \
        [EXPLAIN_ATTEMPTS_DELIVERY] = (delivery_), [EXPLAIN_ATTEMPTS_RECIPIENT] = "doug@x", [EXPLAIN_ATTEMPTS_ACCOUNT] = "doug@x", \
        [EXPLAIN_ATTEMPTS_MAILBOX] = "INBOX", [EXPLAIN_ATTEMPTS_QUEUE_ID] = "Q1", [EXPLAIN_ATTEMPTS_CLAIM] = (claim_), \
        [EXPLAIN_ATTEMPTS_AT] = (at_), [EXPLAIN_ATTEMPTS_AT_US] = (us_), [EXPLAIN_ATTEMPTS_HAS_ENDED] = "t", \
        [EXPLAIN_ATTEMPTS_OUTCOME] = (outcome_), [EXPLAIN_ATTEMPTS_READ_MS] = "1", [EXPLAIN_ATTEMPTS_LOCK_MS] = "1", \
        [EXPLAIN_ATTEMPTS_DATABASE_MS] = "1", [EXPLAIN_ATTEMPTS_IMAP_MS] = "1", __VA_ARGS__ \
    }
#define COPY(id_, state_, ...) \
    { \
        [EXPLAIN_COPIES_ID] = (id_), [EXPLAIN_COPIES_ACCOUNT] = "doug@x", [EXPLAIN_COPIES_MAILBOX] = "INBOX", \
        [EXPLAIN_COPIES_STATE] = (state_), [EXPLAIN_COPIES_DOUBT] = "f", [EXPLAIN_COPIES_CLAIM] = "9", [EXPLAIN_COPIES_HOST] = "mx", \
        [EXPLAIN_COPIES_PID] = "7", [EXPLAIN_COPIES_CLAIMED_AT] = "10:00", [EXPLAIN_COPIES_FREE_AT] = "10:05", \
        [EXPLAIN_COPIES_IS_FREE] = "f", [EXPLAIN_COPIES_REPEATED] = "0", __VA_ARGS__ \
    }
#define DELIVERY(id_, outcome_, ...) \
    { \
        [EXPLAIN_DELIVERIES_ID] = (id_), [EXPLAIN_DELIVERIES_RECIPIENT] = "doug@x", [EXPLAIN_DELIVERIES_OUTCOME] = (outcome_), \
        [EXPLAIN_DELIVERIES_LAST_AT] = "10:00", [EXPLAIN_DELIVERIES_IS_FINISHED] = "f", [EXPLAIN_DELIVERIES_IS_COMPLETE] = "t", __VA_ARGS__ \
    }
/* clang-format on */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static void test_nothing(void **state)
{
    (void)state;
    struct ledger_explanation why = {NO_ROWS(COPY_COLUMNS), ROWS(TRY_COLUMNS, TRY("1", "1", "09:00", "1", "stored")),
                                     ROWS(DELIVERY_COLUMNS, DELIVERY("1", "stored")), NO_OTHERS};
    expect(why, (const char *const[]){NULL});
}

static void test_tries(void **state)
{
    (void)state;
    struct ledger_explanation why = {
        ROWS(COPY_COLUMNS, COPY("1", "stored", [EXPLAIN_COPIES_STORED_AT] = "08:00", [EXPLAIN_COPIES_STORED_US] = "1")),
        ROWS(TRY_COLUMNS, TRY("1", "5", "07:59", "0", "duplicate", [EXPLAIN_ATTEMPTS_QUEUE_ID] = "Q0"),
             TRY("1", "1", "09:00", "10",
                 "mailbox", [EXPLAIN_ATTEMPTS_REASON] = "slow: 1.5 s", [EXPLAIN_ATTEMPTS_QUEUED_MS] = "75400"),
             TRY("1", "2", "09:01", "11",
                 "mailbox", [EXPLAIN_ATTEMPTS_REASON] = "slow: 22 s", [EXPLAIN_ATTEMPTS_IMAP_MS] = "6250"),
             TRY("1", "3", "09:02", "12", "claimed", [EXPLAIN_ATTEMPTS_HAS_ENDED] = "f"),
             TRY("1", "4", "09:03", "13", "duplicate", [EXPLAIN_ATTEMPTS_QUEUED_MS] = "99000",
                 [EXPLAIN_ATTEMPTS_IMAP_MS] = "5049", [EXPLAIN_ATTEMPTS_LOCK_MS] = "1000")),
        NO_ROWS(DELIVERY_COLUMNS), NO_OTHERS};
    EXPECT(
        why, "07:59 for <doug@x>, queue id Q0: duplicate",
        "09:00 to 09:01, 2 tries for <doug@x>, queue id Q1: slow: 22 s; up to 6.3 s each; Postfix had received it 75 s"
        " before: earlier tries, if any, recorded nothing and are in the log only",
        "09:02 for <doug@x>, queue id Q1: cut off: the process died, or lost the database",
        "09:03 for <doug@x>, queue id Q1: duplicate: this content was in doug@x INBOX already, stored 08:00 by mx; it"
        " took 6.1 s (the lock 1.0 s, IMAP 5.0 s)");
}

/* Another kind between two of a kind; another queue id; another delivery. */
static void test_groups(void **state)
{
    (void)state;
    struct ledger_explanation why = {NO_ROWS(COPY_COLUMNS),
                                     ROWS(TRY_COLUMNS, TRY("1", "1", "09:00", "10", "mailbox"),
                                          TRY("1", "2", "09:01", "11", "tempfail"),
                                          TRY("1", "3", "09:02", "12", "mailbox"),
                                          TRY("1", "4", "09:03", "13", "mailbox", [EXPLAIN_ATTEMPTS_QUEUE_ID] = "Q2"),
                                          TRY("2", "5", "08:59", "9", "mailbox", [EXPLAIN_ATTEMPTS_QUEUE_ID] = NULL)),
                                     NO_ROWS(DELIVERY_COLUMNS), ROWS(2, {"2", "07:00"})};
    EXPECT(
        why,
        "2 other messages have this Message-ID and other content, the first received 07:00: content decides, so each is"
        " delivered by itself",
        "08:59 for <doug@x>: mailbox", "09:00 for <doug@x>, queue id Q1: mailbox",
        "09:01 for <doug@x>, queue id Q1: tempfail", "09:02 for <doug@x>, queue id Q1: mailbox",
        "09:03 for <doug@x>, queue id Q2: mailbox");
}

/* A try whose copy is being stored is reported with that copy. */
static void test_appending(void **state)
{
    (void)state;
    struct ledger_explanation why = {ROWS(COPY_COLUMNS, COPY("1", "appending")),
                                     ROWS(TRY_COLUMNS,
                                          TRY("1", "9", "09:00", "10", "claimed", [EXPLAIN_ATTEMPTS_HAS_ENDED] = "f")),
                                     NO_ROWS(DELIVERY_COLUMNS), ROWS(2, {"1", "07:00"})};
    EXPECT(
        why,
        "another message has this Message-ID and other content, received 07:00: content decides, so each is delivered by"
        " itself",
        "the copy in doug@x INBOX was claimed 10:00 by mx[7], which is storing it, or has died; it is left alone until"
        " 10:05, then the next try searches the mailbox for it, and appends it only if it is not there");
    why = (struct ledger_explanation){
        ROWS(COPY_COLUMNS, COPY("1", "appending", [EXPLAIN_COPIES_IS_FREE] = "t", [EXPLAIN_COPIES_DOUBT] = "t")),
        ROWS(TRY_COLUMNS, TRY("1", "9", "09:00", "10", "tempfail", [EXPLAIN_ATTEMPTS_REASON] = "no answer"),
             TRY("1", "10", "09:30", "11", "tempfail", [EXPLAIN_ATTEMPTS_REASON] = "no answer")),
        NO_ROWS(DELIVERY_COLUMNS), NO_OTHERS};
    EXPECT(
        why, "09:00 to 09:30, 2 tries for <doug@x>, queue id Q1: no answer",
        "the copy in doug@x INBOX was claimed 10:00 by mx[7], which could not find out whether it was stored; the next"
        " try searches the mailbox for it, and appends it only if it is not there");
}

static void test_copies(void **state)
{
    (void)state;
    struct ledger_explanation why = {
        ROWS(COPY_COLUMNS, COPY("5", "pending", [EXPLAIN_COPIES_ERROR] = "over quota", [EXPLAIN_COPIES_DOUBT] = "t"),
             COPY("4", "failed", [EXPLAIN_COPIES_ERROR] = "new", [EXPLAIN_COPIES_REPEATED] = "1"), COPY("3", "failed"),
             COPY("2", "stored", [EXPLAIN_COPIES_ERROR] = "no Sent"),
             COPY("1", "expired", [EXPLAIN_COPIES_REPEATED] = "2"), COPY("6", "stored"), COPY("7", "pending")),
        ROWS(TRY_COLUMNS,
             TRY("1", "8", "09:00", "10", "overquota", [EXPLAIN_ATTEMPTS_REASON] = "the mailbox is over quota now")),
        NO_ROWS(DELIVERY_COLUMNS), NO_OTHERS};
    EXPECT(
        why, "09:00 for <doug@x>, queue id Q1: the mailbox is over quota now",
        "the copy in doug@x INBOX may have been stored by an earlier try: the next one searches the mailbox first",
        "the copy in doug@x INBOX is not known to be stored; it will be if the message is delivered again",
        "the copy in doug@x INBOX: no Sent", "the copy in doug@x INBOX failed 10:00",
        "the copy in doug@x INBOX failed 10:00: new", "the copy in doug@x INBOX is not stored yet",
        "the copy in doug@x INBOX is not stored yet",
        "the copy in doug@x INBOX was claimed again on purpose, by replay --force or --verify, or by restore, 2 times",
        "the copy in doug@x INBOX was claimed again on purpose, by replay --force or --verify, or by restore, once");
}

static void test_deliveries(void **state)
{
    (void)state;
    struct ledger_explanation why = {
        NO_ROWS(COPY_COLUMNS), NO_ROWS(TRY_COLUMNS),
        ROWS(DELIVERY_COLUMNS,
             DELIVERY("1", "expired", [EXPLAIN_DELIVERIES_FINISHED_AT] = "12:00",
                      [EXPLAIN_DELIVERIES_FINISHED_US] = "70", [EXPLAIN_DELIVERIES_IS_FINISHED] = "t"),
             DELIVERY("2", "mailbox"), DELIVERY("3", "tempfail", [EXPLAIN_DELIVERIES_IS_COMPLETE] = "f")),
        NO_OTHERS};
    EXPECT(
        why, "12:00 for <doug@x>: expired; the last attempt was 10:00",
        "what came for <doug@x> may have been cut short, as when Postfix is stopped; Postfix delivers the whole message"
        " again, and with other content that is another message");
}

#pragma GCC diagnostic pop

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),   cmocka_unit_test(test_tries),  cmocka_unit_test(test_groups),
        cmocka_unit_test(test_appending), cmocka_unit_test(test_copies), cmocka_unit_test(test_deliveries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
