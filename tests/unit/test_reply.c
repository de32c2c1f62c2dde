/* SPDX-License-Identifier: ISC
 *
 * What is recorded of each recipient's answer: in particular, whether Postfix will retry it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "delivery/delivery_internal.h"

#define NONE OUTCOME_COUNT /* no answer yet */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SCUBA, DOUG, LISA, TARGETS };

/* Two recipients with one mailbox each, and the sender's Sent. */
struct situation {
    struct delivery_request request;
    struct delivery_reply given[2];
    size_t of_recipient[2];
    struct delivery delivery;
    struct plan *plan;
    struct copy_result result[TARGETS];
    struct delivery_work work;
    struct ledger_reply *list;
    struct ledger_replies replies;
};

static void prepare(struct situation *it, enum outcome scuba, enum outcome doug)
{
    const enum outcome outcomes[2] = {scuba, doug};
    *it = (struct situation){.of_recipient = {SCUBA, DOUG}};
    it->request.recipient_count = 2;
    it->delivery = (struct delivery){.request = &it->request, .replies = it->given};
    it->plan = base_alloc(sizeof(*it->plan) + TARGETS * sizeof(it->plan->targets[0]));
    it->plan->sent = LISA;
    it->plan->targets[SCUBA].action = it->plan->targets[DOUG].action = PLAN_APPEND;
    it->work = (struct delivery_work){
        .request = &it->request,
        .delivery = &it->delivery,
        .plan = it->plan,
        .targets = {.of_recipient = it->of_recipient},
        .results = it->result,
    };
    for (size_t i = 0; i < 2; i++)
        if (outcomes[i] != NONE)
            report_set(&it->given[i].report, outcomes[i], "text");
}

static void record(struct situation *it)
{
    reply_clear(&it->replies);
    it->replies = reply_record(&it->work);
    it->list = it->replies.replies;
}

static void clear(struct situation *it)
{
    base_free(&it->plan);
    reply_clear(&it->replies);
}

static void test_finished(void **state)
{
    static const struct {
        enum outcome scuba, doug;
        size_t owner; /* of the Sent copy */
        enum plan_action sent;
        bool waits, done; /* for the Sent copy, with it */
        bool scuba_finished, doug_finished;
    } rows[] = {
        {OUTCOME_STORED, OUTCOME_MAILBOX, SCUBA, PLAN_DUPLICATE, false, false, true, false},
        {OUTCOME_TOO_LARGE, OUTCOME_DUPLICATE, SCUBA, PLAN_DUPLICATE, false, false, true, true},
        {NONE, OUTCOME_DUPLICATE, SCUBA, PLAN_APPEND, false, false, false, true},
        /* a delivery that must be retried for the Sent copy stays open ... */
        {OUTCOME_STORED, OUTCOME_STORED, SCUBA, PLAN_APPEND, false, false, false, true},
        {OUTCOME_STORED, OUTCOME_STORED, DOUG, PLAN_SEARCH, false, false, true, false},
        {OUTCOME_DUPLICATE, OUTCOME_DUPLICATE, DOUG, PLAN_BUSY, true, false, true, false},
        /* ... until the copy is made ... */
        {OUTCOME_STORED, OUTCOME_STORED, SCUBA, PLAN_SEARCH, false, true, true, true},
        {OUTCOME_TOO_LARGE, OUTCOME_MAILBOX, SCUBA, PLAN_SEARCH, false, true, true, false},
        /* ... or is another delivery's */
        {OUTCOME_STORED, OUTCOME_STORED, SCUBA, PLAN_BUSY, false, false, true, true},
        {OUTCOME_STORED, OUTCOME_STORED, SCUBA, PLAN_VARIANT_HAS_COPY, false, false, true, true},
        /* an owner that was refused for good is not retried; one that was stored is, instead */
        {OUTCOME_TOO_LARGE, OUTCOME_STORED, SCUBA, PLAN_APPEND, false, false, true, false},
        {OUTCOME_TOO_LARGE, OUTCOME_STORED, SCUBA, PLAN_BUSY, true, false, true, false},
        /* and if there is none, none is */
        {OUTCOME_TOO_LARGE, OUTCOME_TOO_LARGE, SCUBA, PLAN_APPEND, false, false, true, true},
        {OUTCOME_TOO_LARGE, OUTCOME_MAILBOX, SCUBA, PLAN_APPEND, false, false, true, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct situation it;
        prepare(&it, rows[i].scuba, rows[i].doug);
        it.plan->sent_owner = rows[i].owner;
        it.plan->sent_waits = rows[i].waits;
        it.plan->targets[LISA].action = rows[i].sent;
        it.result[LISA].state = rows[i].done ? COPY_STORED : COPY_PENDING;
        record(&it);
        assert_int_equal(it.replies.count, 2);
        assert_int_equal(it.list[SCUBA].finished, rows[i].scuba_finished);
        assert_int_equal(it.list[DOUG].finished, rows[i].doug_finished);
        clear(&it);
    }
}

/* Nothing is recorded of a recipient that is not routed, or whose copy another delivery is making. */
static void test_recorded(void **state)
{
    struct situation it;
    (void)state;
    prepare(&it, NONE, OUTCOME_STORED);
    it.plan->sent = LEDGER_NO_TARGET;
    record(&it);
    assert_int_equal(it.replies.count, 2);
    assert_string_equal(it.list[0].outcome, "claimed");
    assert_null(it.list[0].reason);
    assert_string_equal(it.list[1].outcome, "stored");
    assert_string_equal(it.list[1].reason, "text");

    it.of_recipient[SCUBA] = LEDGER_NO_TARGET;
    record(&it);
    assert_int_equal(it.replies.count, 1);
    assert_int_equal(it.list[0].recipient, DOUG);

    it.plan->targets[DOUG].action = PLAN_BUSY;
    record(&it);
    assert_int_equal(it.replies.count, 0);
    clear(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_finished), cmocka_unit_test(test_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
