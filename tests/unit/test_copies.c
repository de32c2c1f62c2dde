/* SPDX-License-Identifier: ISC
 *
 * What is claimed, by what stands in the ledger: the decision on which "exactly once" rests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delivery/copies.h"

#define HOLD_OFF 320000

struct situation {
    struct config *config;
    struct delivery delivery;
    struct delivery_recipient recipients[2];
    struct ledger_copy copies[3];
    struct ledger_delivery rows[2];
    struct delivery_work work;
};

/* Two recipients with a mailbox each, and the sender's Sent. */
static void prepare(struct situation *it)
{
    memset(it, 0, sizeof(*it));
    it->config = config_defaults();
    it->config->delivery.hold_off = HOLD_OFF;
    it->recipients[0].address = "scuba@example.org";
    it->recipients[1].address = "doug@example.org";
    it->recipients[1].copy = 1;
    it->copies[0] = (struct ledger_copy){.account = "scuba", .mailbox = "INBOX", .role = COPY_INBOX};
    it->copies[1] = (struct ledger_copy){.account = "doug", .mailbox = "INBOX", .role = COPY_INBOX};
    it->copies[2] = (struct ledger_copy){.account = "lisa", .mailbox = "Sent", .role = COPY_SENT};
    it->delivery = (struct delivery){.config = it->config, .recipients = it->recipients, .recipient_count = 2};
    it->work = (struct delivery_work){
        .delivery = &it->delivery, .copies = it->copies, .deliveries = it->rows, .sent = &it->copies[2],
        .claim = {.copies = it->copies, .copy_count = 3, .deliveries = it->rows, .delivery_count = 2},
    };
}

static void test_inbox(void **state)
{
    static const struct {
        enum copy_state found;
        int64_t age;
        bool doubt;
        bool wanted, doubt_after;
        enum outcome outcome;   /* OUTCOME_TROUBLE: none yet */
    } cases[] = {
        {COPY_NONE, 0, false, true, false, OUTCOME_TROUBLE},
        {COPY_PENDING, 5, false, true, false, OUTCOME_TROUBLE},
        {COPY_PENDING, 5, true, true, true, OUTCOME_TROUBLE},
        {COPY_FAILED, 5, false, true, false, OUTCOME_TROUBLE},
        {COPY_APPENDING, 0, false, false, false, OUTCOME_HELD},
        {COPY_APPENDING, HOLD_OFF - 1, false, false, false, OUTCOME_HELD},
        {COPY_APPENDING, HOLD_OFF - 1, true, false, true, OUTCOME_HELD},
        {COPY_APPENDING, HOLD_OFF, false, true, true, OUTCOME_TROUBLE},
        {COPY_STORED, 5, false, false, false, OUTCOME_DUPLICATE},
        {COPY_STORED, HOLD_OFF, false, false, false, OUTCOME_DUPLICATE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct situation it;
        prepare(&it);
        it.copies[0].state = cases[i].found;
        it.copies[0].attempt_age_ms = cases[i].age;
        it.copies[0].doubt = cases[i].doubt;
        it.copies[2].state = COPY_STORED;
        /* the other recipient is new, whatever becomes of the first */
        assert_int_equal(copies_decide(&it.work), cases[i].wanted + 1);
        assert_int_equal(it.copies[0].wanted, cases[i].wanted);
        assert_int_equal(it.copies[0].doubt, cases[i].doubt_after);
        assert_int_equal(it.recipients[0].report.outcome, cases[i].outcome);
        assert_int_equal(it.rows[0].wanted, cases[i].outcome != OUTCOME_HELD);
        assert_true(it.copies[1].wanted);
        assert_false(it.copies[2].wanted);
        config_free(&it.config);
    }
}

static void test_sent(void **state)
{
    static const struct {
        enum copy_state found;
        int64_t age;
        size_t claimed_by;
        bool finished, elsewhere;
        bool wanted, doubt_after, waits;
        size_t owner;
    } cases[] = {
        {COPY_NONE, 0, LEDGER_OTHER, false, false, true, false, false, 0},
        {COPY_NONE, 0, LEDGER_OTHER, false, true, false, false, false, 0},      /* a variant of the message has it */
        {COPY_PENDING, 0, 1, false, false, true, false, false, 0},
        {COPY_STORED, 0, 1, false, false, false, false, false, 0},
        {COPY_FAILED, 0, 1, false, false, false, false, false, 0},      /* given up: never bounces, never blocks */
        {COPY_APPENDING, 0, LEDGER_OTHER, false, false, false, false, false, 0},    /* another delivery's business ... */
        {COPY_APPENDING, 0, LEDGER_OTHER, true, false, false, false, true, 0},  /* ... but it will not come again */
        {COPY_APPENDING, 0, 0, false, false, false, false, true, 0},    /* ours: that recipient has to come again */
        {COPY_APPENDING, 0, 1, false, false, false, false, true, 1},
        {COPY_APPENDING, 0, 1, true, false, false, false, true, 0},
        {COPY_APPENDING, HOLD_OFF, LEDGER_OTHER, false, false, true, true, false, 0},
        {COPY_APPENDING, HOLD_OFF, 1, false, false, true, true, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct situation it;
        prepare(&it);
        it.copies[0].state = it.copies[1].state = COPY_STORED;
        it.copies[2].state = cases[i].found;
        it.copies[2].attempt_age_ms = cases[i].age;
        it.copies[2].claimed_by = cases[i].claimed_by;
        it.copies[2].claimed_by_finished = cases[i].finished;
        it.copies[2].elsewhere = cases[i].elsewhere;
        assert_int_equal(copies_decide(&it.work), cases[i].wanted);
        assert_int_equal(it.copies[2].wanted, cases[i].wanted);
        assert_int_equal(it.copies[2].doubt, cases[i].doubt_after);
        assert_int_equal(it.work.sent_waits, cases[i].waits);
        assert_int_equal(it.work.sent_owner, cases[i].owner);
        if (cases[i].wanted)
            assert_ptr_equal(it.copies[2].recipient, it.recipients[0].address);
        config_free(&it.config);
    }
}

/* Only a recipient that goes on can answer for the Sent copy. */
static void test_sent_owner(void **state)
{
    struct situation it;
    (void)state;
    prepare(&it);
    it.copies[0].state = COPY_APPENDING;
    assert_int_equal(copies_decide(&it.work), 2);
    assert_int_equal(it.work.sent_owner, 1);
    assert_ptr_equal(it.copies[2].recipient, it.recipients[1].address);
    config_free(&it.config);

    prepare(&it);
    it.copies[0].state = it.copies[1].state = COPY_APPENDING;
    assert_int_equal(copies_decide(&it.work), 0);
    assert_false(it.copies[2].wanted);
    config_free(&it.config);

    prepare(&it);
    it.recipients[0].copy = it.recipients[1].copy = COPIES_NO_COPY;     /* both unknown */
    assert_int_equal(copies_decide(&it.work), 0);
    config_free(&it.config);
}

/* Should some mailbox take all the time, it is not always the same ones that are left for later. */
static void test_order(void **state)
{
    static const struct message message = {.data = (const unsigned char *)"", .digest = {0}};
    int first[2] = {0, 0};
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct situation it;
        prepare(&it);
        it.config->route.sent_copy = SENT_COPY_OFF;
        it.delivery.message = &message;
        it.delivery.sender = "";
        memset(&it.work, 0, sizeof(it.work));
        it.work.delivery = &it.delivery;
        assert_true(copies_collect(&it.work));
        assert_int_equal(it.work.claim.copy_count, 2);
        assert_int_equal(it.work.order[0] + it.work.order[1], 1);
        first[it.work.order[0]]++;
        copies_clear(&it.work);
        for (size_t recipient = 0; recipient < 2; recipient++)
            route_clear(&it.recipients[recipient].route);
        config_free(&it.config);
    }
    assert_true(first[0] > 0 && first[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inbox),
        cmocka_unit_test(test_sent),
        cmocka_unit_test(test_sent_owner),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
