/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/ledger_why.h"

#define COPY_COLUMNS (WHY_COPIES_REPEATED + 1)
#define TRY_COLUMNS (WHY_TRIES_IMAP_MS + 1)
#define DELIVERY_COLUMNS (WHY_DELIVERIES_IS_WHOLE + 1)

/* Columns not named are NULL. */
static struct sql_rows *rows_of(size_t count, size_t columns, const char *const *cells)
{
    struct sql_rows *rows = sql_rows_new(count, columns);
    for (size_t i = 0; i < count * columns; i++)
        rows->cells[i] = (struct sql_cell){cells[i], cells[i] != NULL ? strlen(cells[i]) : 0};
    return rows;
}

#define ROWS(columns, ...) \
    rows_of(sizeof((const char *const[][columns]){__VA_ARGS__}) / sizeof(const char *const[columns]), columns, \
            (const char *const *)(const char *const[][columns]){__VA_ARGS__})
#define NO_ROWS(columns) sql_rows_new(0, columns)
#define NO_OTHERS ROWS(2, {"0", NULL})

/* Frees the rows. sentences: ends with NULL. */
static void expect(struct ledger_why why, const char *const *sentences)
{
    GPtrArray *found = ledger_why_sentences(&why);
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
        [WHY_TRIES_DELIVERY] = (delivery_), [WHY_TRIES_RECIPIENT] = "doug@x", [WHY_TRIES_ACCOUNT] = "doug@x", \
        [WHY_TRIES_MAILBOX] = "INBOX", [WHY_TRIES_QUEUE_ID] = "Q1", [WHY_TRIES_CLAIM] = (claim_), \
        [WHY_TRIES_AT] = (at_), [WHY_TRIES_AT_US] = (us_), [WHY_TRIES_HAS_ENDED] = "t", \
        [WHY_TRIES_OUTCOME] = (outcome_), [WHY_TRIES_READ_MS] = "1", [WHY_TRIES_LOCK_MS] = "1", \
        [WHY_TRIES_DATABASE_MS] = "1", [WHY_TRIES_IMAP_MS] = "1", __VA_ARGS__ \
    }
#define COPY(id_, state_, ...) \
    { \
        [WHY_COPIES_ID] = (id_), [WHY_COPIES_ACCOUNT] = "doug@x", [WHY_COPIES_MAILBOX] = "INBOX", \
        [WHY_COPIES_STATE] = (state_), [WHY_COPIES_DOUBT] = "f", [WHY_COPIES_CLAIM] = "9", [WHY_COPIES_HOST] = "mx", \
        [WHY_COPIES_PID] = "7", [WHY_COPIES_ATTEMPT_AT] = "10:00", [WHY_COPIES_FREE_AT] = "10:05", \
        [WHY_COPIES_IS_FREE] = "f", [WHY_COPIES_REPEATED] = "0", __VA_ARGS__ \
    }
#define DELIVERY(id_, outcome_, ...) \
    { \
        [WHY_DELIVERIES_ID] = (id_), [WHY_DELIVERIES_RECIPIENT] = "doug@x", [WHY_DELIVERIES_OUTCOME] = (outcome_), \
        [WHY_DELIVERIES_LAST_AT] = "10:00", [WHY_DELIVERIES_IS_FINISHED] = "f", [WHY_DELIVERIES_IS_WHOLE] = "t", __VA_ARGS__ \
    }
/* clang-format on */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

static void test_nothing(void **state)
{
    (void)state;
    struct ledger_why why = {NO_ROWS(COPY_COLUMNS), ROWS(TRY_COLUMNS, TRY("1", "1", "09:00", "1", "stored")),
                             ROWS(DELIVERY_COLUMNS, DELIVERY("1", "stored")), NO_OTHERS};
    expect(why, (const char *const[]){NULL});
}

static void test_tries(void **state)
{
    (void)state;
    struct ledger_why why = {
        ROWS(COPY_COLUMNS, COPY("1", "stored", [WHY_COPIES_STORED_AT] = "08:00", [WHY_COPIES_STORED_US] = "1")),
        ROWS(TRY_COLUMNS, TRY("1", "5", "07:59", "0", "duplicate", [WHY_TRIES_QUEUE_ID] = "Q0"),
             TRY("1", "1", "09:00", "10",
                 "mailbox", [WHY_TRIES_REASON] = "slow: 1.5 s", [WHY_TRIES_QUEUED_MS] = "75400"),
             TRY("1", "2", "09:01", "11", "mailbox", [WHY_TRIES_REASON] = "slow: 22 s", [WHY_TRIES_IMAP_MS] = "6250"),
             TRY("1", "3", "09:02", "12", "claimed", [WHY_TRIES_HAS_ENDED] = "f"),
             TRY("1", "4", "09:03", "13", "duplicate", [WHY_TRIES_QUEUED_MS] = "99000", [WHY_TRIES_IMAP_MS] = "5049",
                 [WHY_TRIES_LOCK_MS] = "1000")),
        NO_ROWS(DELIVERY_COLUMNS), NO_OTHERS};
    EXPECT(
        why, "07:59 for <doug@x>, queue id Q0: duplicate",
        "09:00 to 09:01, 2 tries for <doug@x>, queue id Q1: slow: 22 s; up to 6.3 s each; Postfix had received it 75 s"
        " before: earlier tries, if any, recorded nothing and are in the log only",
        "09:02 for <doug@x>, queue id Q1: cut off: the process died, or lost the database",
        "09:03 for <doug@x>, queue id Q1: duplicate: this content was in doug@x INBOX already, stored 08:00 by mx; it"
        " took 6.1 s (the lock 1.0 s, IMAP 5.0 s)");
}

/* Another kind between two of a kind; a queue id of its own; another delivery. */
static void test_groups(void **state)
{
    (void)state;
    struct ledger_why why = {NO_ROWS(COPY_COLUMNS),
                             ROWS(TRY_COLUMNS, TRY("1", "1", "09:00", "10", "mailbox"),
                                  TRY("1", "2", "09:01", "11", "trouble"), TRY("1", "3", "09:02", "12", "mailbox"),
                                  TRY("1", "4", "09:03", "13", "mailbox", [WHY_TRIES_QUEUE_ID] = "Q2"),
                                  TRY("2", "5", "08:59", "9", "mailbox", [WHY_TRIES_QUEUE_ID] = NULL)),
                             NO_ROWS(DELIVERY_COLUMNS), ROWS(2, {"2", "07:00"})};
    EXPECT(
        why,
        "2 other messages have this Message-ID and other content, the first received 07:00: content decides, so each is"
        " delivered by itself",
        "08:59 for <doug@x>: mailbox", "09:00 for <doug@x>, queue id Q1: mailbox",
        "09:01 for <doug@x>, queue id Q1: trouble", "09:02 for <doug@x>, queue id Q1: mailbox",
        "09:03 for <doug@x>, queue id Q2: mailbox");
}

/* A try whose copy is being stored is told with that copy. */
static void test_appending(void **state)
{
    (void)state;
    struct ledger_why why = {ROWS(COPY_COLUMNS, COPY("1", "appending")),
                             ROWS(TRY_COLUMNS, TRY("1", "9", "09:00", "10", "claimed", [WHY_TRIES_HAS_ENDED] = "f")),
                             NO_ROWS(DELIVERY_COLUMNS), ROWS(2, {"1", "07:00"})};
    EXPECT(
        why,
        "another message has this Message-ID and other content, received 07:00: content decides, so each is delivered by"
        " itself",
        "the copy in doug@x INBOX was claimed 10:00 by mx[7], which is storing it, or has died; it is left alone until"
        " 10:05, then the next try searches the mailbox for it, and appends it only if it is not there");
    why =
        (struct ledger_why){ROWS(COPY_COLUMNS,
                                 COPY("1", "appending", [WHY_COPIES_IS_FREE] = "t", [WHY_COPIES_DOUBT] = "t")),
                            ROWS(TRY_COLUMNS, TRY("1", "9", "09:00", "10", "trouble", [WHY_TRIES_REASON] = "no answer"),
                                 TRY("1", "10", "09:30", "11", "trouble", [WHY_TRIES_REASON] = "no answer")),
                            NO_ROWS(DELIVERY_COLUMNS), NO_OTHERS};
    EXPECT(
        why, "09:00 to 09:30, 2 tries for <doug@x>, queue id Q1: no answer",
        "the copy in doug@x INBOX was claimed 10:00 by mx[7], which could not find out whether it was stored; the next"
        " try searches the mailbox for it, and appends it only if it is not there");
}

static void test_copies(void **state)
{
    (void)state;
    struct ledger_why why = {ROWS(COPY_COLUMNS,
                                  COPY("5", "pending", [WHY_COPIES_ERROR] = "over quota", [WHY_COPIES_DOUBT] = "t"),
                                  COPY("4", "failed", [WHY_COPIES_ERROR] = "new", [WHY_COPIES_REPEATED] = "1"),
                                  COPY("3", "failed"), COPY("2", "stored", [WHY_COPIES_ERROR] = "no Sent"),
                                  COPY("1", "abandoned", [WHY_COPIES_REPEATED] = "2"), COPY("6", "stored"),
                                  COPY("7", "pending")),
                             ROWS(TRY_COLUMNS, TRY("1", "8", "09:00", "10",
                                                   "overquota", [WHY_TRIES_REASON] = "the mailbox is over quota now")),
                             NO_ROWS(DELIVERY_COLUMNS), NO_OTHERS};
    EXPECT(
        why, "09:00 for <doug@x>, queue id Q1: the mailbox is over quota now",
        "the copy in doug@x INBOX may have been stored by an earlier try: the next one searches the mailbox first",
        "the copy in doug@x INBOX is not known to be stored; it will be if the message is delivered again",
        "the copy in doug@x INBOX: no Sent", "the copy in doug@x INBOX was given up 10:00",
        "the copy in doug@x INBOX was given up 10:00: new", "the copy in doug@x INBOX is not stored yet",
        "the copy in doug@x INBOX is not stored yet",
        "the copy in doug@x INBOX was claimed again on purpose, by replay --force or --verify, or by restore, 2 times",
        "the copy in doug@x INBOX was claimed again on purpose, by replay --force or --verify, or by restore, once");
}

static void test_deliveries(void **state)
{
    (void)state;
    struct ledger_why why = {NO_ROWS(COPY_COLUMNS), NO_ROWS(TRY_COLUMNS),
                             ROWS(DELIVERY_COLUMNS,
                                  DELIVERY("1", "abandoned", [WHY_DELIVERIES_FINISHED_AT] = "12:00",
                                           [WHY_DELIVERIES_FINISHED_US] = "70", [WHY_DELIVERIES_IS_FINISHED] = "t"),
                                  DELIVERY("2", "mailbox"), DELIVERY("3", "trouble", [WHY_DELIVERIES_IS_WHOLE] = "f")),
                             NO_OTHERS};
    EXPECT(
        why, "12:00 for <doug@x>: abandoned; the last try was 10:00",
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
