/* SPDX-License-Identifier: ISC
 *
 * What to do about each mailbox, depending on the ledger: every combination of found and request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "delivery/plan.h"

#define HOLD_OFF 320000
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SCUBA, DOUG, LISA, TARGETS };

static const struct ledger_target targets[TARGETS] = {
    {.account = "scuba", .mailbox = "INBOX", .role = COPY_INBOX},
    {.account = "doug", .mailbox = "INBOX", .role = COPY_INBOX},
    {.account = "lisa", .mailbox = "Sent", .role = COPY_SENT},
};

/* Two recipients with one mailbox each, and the sender's Sent; the message is new. */
struct situation {
    size_t recipients[2];
    struct plan_request request;
    struct ledger_state *found;
    struct plan *plan;
};

static void prepare(struct situation *it)
{
    *it = (struct situation){.recipients = {SCUBA, DOUG}};
    it->request = (struct plan_request){
        .hold_off = HOLD_OFF,
        .targets = targets,
        .target_count = TARGETS,
        .recipients = it->recipients,
        .recipient_count = 2,
    };
    it->found = base_alloc(sizeof(*it->found) + TARGETS * sizeof(it->found->copies[0]));
    it->found->known = true;
    for (size_t i = 0; i < TARGETS; i++)
        it->found->copies[i].owner = LEDGER_OTHER;
}

static const struct plan *make(struct situation *it)
{
    base_free(&it->plan);
    it->plan = plan_make(it->found, &it->request);
    return it->plan;
}

static void clear(struct situation *it)
{
    base_free(&it->found);
    base_free(&it->plan);
}

static void test_inbox(void **state)
{
    static const struct {
        struct ledger_copy_state found;
        enum delivery_redeliver redeliver;
        enum plan_action action;
        enum plan_reason reason;
        bool doubt;
    } rows[] = {
        /* clang-format off */
        {{.state = COPY_NONE}, REDELIVER_NO, PLAN_APPEND, REASON_NEW_MAILBOX, false},
        {{.state = COPY_NONE}, REDELIVER_VERIFY, PLAN_APPEND, REASON_NEW_MAILBOX, false},
        {{.state = COPY_NONE}, REDELIVER_FORCE, PLAN_APPEND, REASON_NEW_MAILBOX, false},
        {{.state = COPY_PENDING}, REDELIVER_NO, PLAN_APPEND, REASON_PENDING, false},
        {{.state = COPY_PENDING}, REDELIVER_VERIFY, PLAN_APPEND, REASON_PENDING, false},
        {{.state = COPY_PENDING}, REDELIVER_FORCE, PLAN_APPEND, REASON_PENDING, false},
        {{.state = COPY_PENDING, .doubt = true}, REDELIVER_NO, PLAN_SEARCH, REASON_DOUBT, true},
        {{.state = COPY_PENDING, .doubt = true}, REDELIVER_VERIFY, PLAN_SEARCH, REASON_DOUBT, true},
        {{.state = COPY_PENDING, .doubt = true}, REDELIVER_FORCE, PLAN_SEARCH, REASON_DOUBT, true},
        {{.state = COPY_FAILED}, REDELIVER_NO, PLAN_APPEND, REASON_REFUSED, false},
        {{.state = COPY_FAILED, .doubt = true}, REDELIVER_NO, PLAN_SEARCH, REASON_REFUSED, true},
        {{.state = COPY_FAILED}, REDELIVER_VERIFY, PLAN_APPEND, REASON_REFUSED, false},
        {{.state = COPY_FAILED}, REDELIVER_FORCE, PLAN_APPEND, REASON_REFUSED, false},
        {{.state = COPY_APPENDING}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false},
        {{.state = COPY_APPENDING}, REDELIVER_VERIFY, PLAN_BUSY, REASON_UNDER_WAY, false},
        {{.state = COPY_APPENDING}, REDELIVER_FORCE, PLAN_BUSY, REASON_UNDER_WAY, false},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF - 1}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF - 1, .doubt = true}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, true},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF}, REDELIVER_NO, PLAN_SEARCH, REASON_CUT_OFF, true},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF}, REDELIVER_VERIFY, PLAN_SEARCH, REASON_CUT_OFF, true},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF}, REDELIVER_FORCE, PLAN_SEARCH, REASON_CUT_OFF, true},
        {{.state = COPY_STORED}, REDELIVER_NO, PLAN_DUPLICATE, REASON_STORED, false},
        {{.state = COPY_STORED, .claim_age_ms = HOLD_OFF}, REDELIVER_NO, PLAN_DUPLICATE, REASON_STORED, false},
        {{.state = COPY_STORED}, REDELIVER_VERIFY, PLAN_SEARCH, REASON_VERIFIED, true},
        {{.state = COPY_STORED}, REDELIVER_MISSING, PLAN_SEARCH, REASON_VERIFIED, true},
        {{.state = COPY_STORED}, REDELIVER_LOST, PLAN_SEARCH, REASON_VERIFIED, true},
        {{.state = COPY_STORED}, REDELIVER_FORCE, PLAN_APPEND, REASON_FORCED, false},
        /* clang-format on */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct situation it;
        prepare(&it);
        it.found->copies[SCUBA] = rows[i].found;
        it.request.redeliver = rows[i].redeliver;
        const struct plan *plan = make(&it);
        assert_int_equal(plan->targets[SCUBA].action, rows[i].action);
        assert_int_equal(plan->targets[SCUBA].reason, rows[i].reason);
        assert_int_equal(plan->targets[SCUBA].doubt, rows[i].doubt);
        assert_int_equal(plan_goes_on(plan, SCUBA), rows[i].action != PLAN_BUSY);
        /* the other recipient is new, no matter what happens to the first */
        assert_int_equal(plan->targets[DOUG].action, PLAN_APPEND);
        clear(&it);
    }
}

/* Where details name folders, of which some cannot be made, two copies for one account may be in one mailbox. */
static void test_beside(void **state)
{
    static const struct ledger_target both[] = {
        {.account = "scuba", .mailbox = "INBOX", .role = COPY_INBOX},
        {.account = "scuba", .mailbox = "lists", .role = COPY_INBOX},
        {.account = "scuba", .mailbox = "Sent", .role = COPY_SENT},
    };
    static const char *const fallbacks[] = {NULL, "INBOX", NULL};
    static const struct {
        enum copy_state state;
        enum delivery_redeliver redeliver;
        bool folders, recorded, requested;
        int64_t age;
        enum plan_action action;
        bool sibling, sibling_in_flight;
    } rows[] = {
        {COPY_NONE, REDELIVER_NO, true, false, false, 0, PLAN_APPEND, false, false},
        {COPY_NONE, REDELIVER_NO, true, true, false, 0, PLAN_SEARCH, true, false},
        {COPY_NONE, REDELIVER_NO, true, true, false, 1, PLAN_BUSY, true, true},
        {COPY_NONE, REDELIVER_NO, true, true, false, HOLD_OFF - 1, PLAN_BUSY, true, true},
        {COPY_NONE, REDELIVER_NO, true, true, false, HOLD_OFF, PLAN_SEARCH, true, false},
        {COPY_NONE, REDELIVER_NO, true, false, true, 0, PLAN_SEARCH, true, false},
        {COPY_PENDING, REDELIVER_NO, true, true, false, 0, PLAN_SEARCH, true, false},
        {COPY_PENDING, REDELIVER_NO, true, true, false, 1, PLAN_BUSY, true, true},
        {COPY_STORED, REDELIVER_NO, true, true, true, 0, PLAN_DUPLICATE, true, false},
        {COPY_STORED, REDELIVER_NO, true, true, true, 1, PLAN_DUPLICATE, true, true},
        {COPY_STORED, REDELIVER_FORCE, true, true, true, 1, PLAN_APPEND, false, false},
        {COPY_APPENDING, REDELIVER_NO, true, true, true, 0, PLAN_BUSY, true, false},
        {COPY_NONE, REDELIVER_NO, false, true, true, 1, PLAN_APPEND, false, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct situation it;
        prepare(&it);
        it.request.targets = rows[i].requested ? both : targets;
        it.request.fallbacks = rows[i].folders ? fallbacks : NULL;
        it.request.redeliver = rows[i].redeliver;
        it.found->copies[0].state = rows[i].state;
        it.found->copies[0].sibling = it.found->copies[1].sibling = rows[i].recorded;
        it.found->copies[0].sibling_age_ms = it.found->copies[1].sibling_age_ms = rows[i].age;
        const struct plan *plan = make(&it);
        assert_int_equal(plan->targets[0].action, rows[i].action);
        assert_int_equal(plan->targets[0].sibling, rows[i].sibling);
        assert_int_equal(plan->targets[0].sibling_in_flight, rows[i].sibling_in_flight);
        if (rows[i].requested) { /* the folder itself is not searched: its copy is not in doubt */
            assert_int_equal(plan->targets[1].action, PLAN_APPEND);
            assert_int_equal(plan->targets[1].sibling, rows[i].folders);
        }
        clear(&it);
    }
}

/* Two folders whose names may be of one mailbox, one of the account's Sent too. What follows for the first, and for Sent. */
static void test_alias(void **state)
{
    static const struct ledger_target names[] = {
        {.account = "scuba", .mailbox = "Lists", .role = COPY_INBOX},
        {.account = "scuba", .mailbox = "\\Sent", .role = COPY_SENT},
        {.account = "scuba", .mailbox = "INBOX.Lists", .role = COPY_INBOX},
    };
    static const struct ledger_target of_others[] = {
        {.account = "scuba", .mailbox = "Lists", .role = COPY_INBOX},
        {.account = "doug", .mailbox = "\\Sent", .role = COPY_SENT},
        {.account = "lisa", .mailbox = "INBOX.Lists", .role = COPY_INBOX},
    };
    static const struct ledger_target unlike[] = {
        {.account = "scuba", .mailbox = "Lists", .role = COPY_INBOX},
        {.account = "scuba", .mailbox = "Sent", .role = COPY_SENT},
        {.account = "scuba", .mailbox = "News", .role = COPY_INBOX},
    };
    static const char *const fallbacks[] = {"INBOX", NULL, "INBOX"};
    static const struct {
        const struct ledger_target *targets;
        enum copy_state state;
        enum delivery_redeliver redeliver;
        bool folders, recorded;
        int64_t age;
        enum plan_action action, sent;
        bool same_mailbox, sibling_in_flight, waits;
    } rows[] = {
        /* clang-format off */
        {unlike, COPY_NONE, REDELIVER_NO, false, false, 0, PLAN_APPEND, PLAN_APPEND, false, false, false},
        {of_others, COPY_NONE, REDELIVER_NO, true, false, 0, PLAN_APPEND, PLAN_APPEND, false, false, false},
        {unlike, COPY_NONE, REDELIVER_NO, true, false, 0, PLAN_APPEND, PLAN_APPEND, false, false, false},
        /* by this delivery */
        {names, COPY_NONE, REDELIVER_NO, false, false, 0, PLAN_SEARCH, PLAN_SEARCH, true, false, false},
        {names, COPY_NONE, REDELIVER_NO, true, false, 0, PLAN_SEARCH, PLAN_SEARCH, true, false, false},
        {names, COPY_PENDING, REDELIVER_NO, false, false, 0, PLAN_SEARCH, PLAN_SEARCH, true, false, false},
        {names, COPY_STORED, REDELIVER_NO, false, false, 0, PLAN_DUPLICATE, PLAN_DUPLICATE, true, false, false},
        {names, COPY_STORED, REDELIVER_FORCE, false, false, 0, PLAN_APPEND, PLAN_DUPLICATE, false, false, false},
        /* by another */
        {unlike, COPY_NONE, REDELIVER_NO, false, true, 0, PLAN_SEARCH, PLAN_SEARCH, true, false, false},
        {unlike, COPY_NONE, REDELIVER_NO, true, true, 0, PLAN_SEARCH, PLAN_SEARCH, true, false, false},
        {unlike, COPY_NONE, REDELIVER_NO, false, true, 1, PLAN_BUSY, PLAN_BUSY, true, true, true},
        {unlike, COPY_NONE, REDELIVER_NO, true, true, 1, PLAN_BUSY, PLAN_BUSY, true, true, true},
        {unlike, COPY_NONE, REDELIVER_NO, false, true, HOLD_OFF - 1, PLAN_BUSY, PLAN_BUSY, true, true, true},
        {unlike, COPY_NONE, REDELIVER_NO, false, true, HOLD_OFF, PLAN_SEARCH, PLAN_SEARCH, true, false, false},
        {unlike, COPY_PENDING, REDELIVER_NO, false, true, 1, PLAN_BUSY, PLAN_BUSY, true, true, true},
        {unlike, COPY_STORED, REDELIVER_NO, false, true, 1, PLAN_DUPLICATE, PLAN_DUPLICATE, true, true, false},
        {unlike, COPY_FAILED, REDELIVER_NO, false, true, 1, PLAN_BUSY, PLAN_SENT_FAILED, true, true, false},
        {unlike, COPY_STORED, REDELIVER_FORCE, false, true, 1, PLAN_APPEND, PLAN_DUPLICATE, false, false, false},
        /* clang-format on */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct situation it;
        prepare(&it);
        it.recipients[1] = 2;
        it.request.targets = rows[i].targets;
        it.request.fallbacks = rows[i].folders ? fallbacks : NULL;
        it.request.redeliver = rows[i].redeliver;
        for (size_t target = 0; target < 2; target++) {
            it.found->copies[target].state = rows[i].state;
            it.found->copies[target].sibling = it.found->copies[target].same_mailbox = rows[i].recorded;
            it.found->copies[target].sibling_age_ms = rows[i].age;
        }
        const struct plan *plan = make(&it);
        assert_int_equal(plan->targets[0].action, rows[i].action);
        assert_int_equal(plan->targets[0].same_mailbox, rows[i].same_mailbox);
        assert_int_equal(plan->targets[0].sibling_in_flight, rows[i].sibling_in_flight);
        assert_int_equal(plan->targets[1].action, rows[i].sent);
        assert_int_equal(plan->sent_waits, rows[i].waits);
        clear(&it);
    }
}

static void test_sent(void **state)
{
    static const struct {
        struct ledger_copy_state found;
        enum delivery_redeliver redeliver;
        enum plan_action action;
        enum plan_reason reason;
        bool doubt, waits;
        size_t owner;
    } rows[] = {
        /* clang-format off */
        {{.state = COPY_NONE, .owner = LEDGER_OTHER}, REDELIVER_NO, PLAN_APPEND, REASON_NEW_MAILBOX, false, false, SCUBA},
        {{.state = COPY_NONE, .owner = LEDGER_OTHER, .variant_has_copy = true}, REDELIVER_NO, PLAN_VARIANT_HAS_COPY, REASON_VARIANT, false, false, SCUBA},
        {{.state = COPY_NONE, .owner = LEDGER_OTHER, .variant_in_flight = true}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, true, SCUBA},
        {{.state = COPY_PENDING, .owner = DOUG}, REDELIVER_NO, PLAN_APPEND, REASON_PENDING, false, false, SCUBA},
        {{.state = COPY_PENDING, .doubt = true, .owner = DOUG}, REDELIVER_NO, PLAN_SEARCH, REASON_DOUBT, true, false, SCUBA},
        {{.state = COPY_PENDING, .owner = DOUG, .variant_has_copy = true}, REDELIVER_NO, PLAN_VARIANT_HAS_COPY, REASON_VARIANT, false, false, SCUBA},
        {{.state = COPY_STORED, .owner = DOUG}, REDELIVER_NO, PLAN_DUPLICATE, REASON_STORED, false, false, SCUBA},
        {{.state = COPY_STORED, .owner = DOUG}, REDELIVER_FORCE, PLAN_DUPLICATE, REASON_STORED, false, false, SCUBA},
        {{.state = COPY_STORED, .owner = DOUG}, REDELIVER_VERIFY, PLAN_SEARCH, REASON_VERIFIED, true, false, SCUBA},
        /* one copy for both */
        {{.state = COPY_STORED, .owner = DOUG, .variant_has_copy = true}, REDELIVER_VERIFY, PLAN_SEARCH, REASON_VERIFIED, true, false, SCUBA},
        {{.state = COPY_STORED, .owner = DOUG, .variant_has_copy = true}, REDELIVER_LOST, PLAN_SEARCH, REASON_VERIFIED, true, false, SCUBA},
        {{.state = COPY_STORED, .owner = DOUG, .variant_has_copy = true, .variant_in_flight = true}, REDELIVER_VERIFY, PLAN_BUSY,
         REASON_UNDER_WAY, false, true, SCUBA},
        /* failed for good: never bounces, never blocks */
        {{.state = COPY_FAILED, .owner = DOUG}, REDELIVER_NO, PLAN_SENT_FAILED, REASON_REFUSED, false, false, SCUBA},
        {{.state = COPY_FAILED, .owner = DOUG}, REDELIVER_VERIFY, PLAN_SENT_FAILED, REASON_REFUSED, false, false, SCUBA},
        {{.state = COPY_FAILED, .owner = DOUG}, REDELIVER_FORCE, PLAN_SENT_FAILED, REASON_REFUSED, false, false, SCUBA},
        /* left to another delivery ... */
        {{.state = COPY_APPENDING, .owner = LEDGER_OTHER}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, false, SCUBA},
        /* ... which will not be retried */
        {{.state = COPY_APPENDING, .owner = LEDGER_OTHER, .owner_finished = true}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, true,
         SCUBA},
        /* ours: that recipient must be retried */
        {{.state = COPY_APPENDING, .owner = SCUBA}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, true, SCUBA},
        {{.state = COPY_APPENDING, .owner = DOUG}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, true, DOUG},
        {{.state = COPY_APPENDING, .owner = DOUG, .owner_finished = true}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, true, SCUBA},
        /* a variant is under way as well: both wait */
        {{.state = COPY_APPENDING, .owner = SCUBA, .variant_in_flight = true}, REDELIVER_NO, PLAN_BUSY, REASON_UNDER_WAY, false, true, SCUBA},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF, .owner = SCUBA, .variant_in_flight = true}, REDELIVER_NO, PLAN_BUSY,
         REASON_UNDER_WAY, false, true, SCUBA},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF, .owner = SCUBA, .variant_has_copy = true}, REDELIVER_NO, PLAN_VARIANT_HAS_COPY,
         REASON_VARIANT, false, false, SCUBA},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF, .owner = LEDGER_OTHER}, REDELIVER_NO, PLAN_SEARCH, REASON_CUT_OFF, true,
         false, SCUBA},
        {{.state = COPY_APPENDING, .claim_age_ms = HOLD_OFF, .owner = DOUG}, REDELIVER_NO, PLAN_SEARCH, REASON_CUT_OFF, true, false, SCUBA},
        /* clang-format on */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct situation it;
        prepare(&it);
        it.found->copies[SCUBA].state = it.found->copies[DOUG].state = COPY_STORED;
        it.found->copies[LISA] = rows[i].found;
        it.request.redeliver = rows[i].redeliver;
        const struct plan *plan = make(&it);
        assert_int_equal(plan->sent, LISA);
        assert_int_equal(plan->targets[LISA].action, rows[i].action);
        assert_int_equal(plan->targets[LISA].reason, rows[i].reason);
        assert_int_equal(plan->targets[LISA].doubt, rows[i].doubt);
        assert_int_equal(plan->sent_waits, rows[i].waits);
        assert_int_equal(plan->sent_owner, rows[i].owner);
        clear(&it);
    }
}

/* Only a recipient that goes on can answer for the Sent copy. */
/* What verify skips is not made, no matter what is known of it; the Sent copy still has an owner then. */
static void test_left(void **state)
{
    static const enum copy_state states[] = {COPY_NONE, COPY_PENDING, COPY_APPENDING, COPY_STORED, COPY_FAILED};
    static const bool skipped[TARGETS] = {[SCUBA] = true, [DOUG] = true};
    (void)state;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct situation it;
        prepare(&it);
        it.request.redeliver = REDELIVER_LOST;
        it.request.skipped = skipped;
        it.found->copies[SCUBA].state = it.found->copies[DOUG].state = states[i];
        it.found->copies[LISA].state = COPY_STORED;
        const struct plan *plan = make(&it);
        assert_int_equal(plan->targets[SCUBA].action, PLAN_DUPLICATE);
        assert_int_equal(plan->targets[DOUG].action, PLAN_DUPLICATE);
        assert_int_equal(plan->targets[LISA].action, PLAN_SEARCH);
        assert_int_equal(plan->sent_owner, 0);
        clear(&it);
    }
}

static void test_sent_owner(void **state)
{
    struct situation it;
    (void)state;
    prepare(&it);
    it.found->copies[SCUBA].state = COPY_APPENDING;
    assert_int_equal(make(&it)->sent_owner, DOUG);
    assert_int_equal(it.plan->targets[LISA].action, PLAN_APPEND);

    it.found->copies[DOUG].state = COPY_APPENDING;
    assert_int_equal(make(&it)->sent_owner, LEDGER_OTHER);
    assert_int_equal(it.plan->targets[LISA].action, PLAN_VARIANT_HAS_COPY);
    assert_int_equal(it.plan->targets[LISA].reason, REASON_NO_RECIPIENT);

    it.found->copies[DOUG].state = COPY_NONE;
    it.recipients[1] = LEDGER_NO_TARGET; /* unknown */
    assert_int_equal(make(&it)->sent_owner, LEDGER_OTHER);
    clear(&it);
}

static void test_search(void **state)
{
    struct situation it;
    (void)state;
    prepare(&it);
    it.request.has_id = true; /* others may have filed it in Sent under its id */
    assert_int_equal(make(&it)->targets[LISA].action, PLAN_SEARCH);
    assert_false(it.plan->targets[LISA].doubt);
    assert_int_equal(it.plan->targets[SCUBA].action, PLAN_APPEND);

    it.request.has_id = false;
    it.request.search = true;
    for (size_t i = 0; i < TARGETS; i++) {
        assert_int_equal(make(&it)->targets[i].action, PLAN_SEARCH);
        assert_false(it.plan->targets[i].doubt);
    }
    it.found->copies[SCUBA].state = COPY_STORED;
    assert_int_equal(make(&it)->targets[SCUBA].action, PLAN_DUPLICATE);
    clear(&it);
}

static void test_new_message(void **state)
{
    struct situation it;
    (void)state;
    prepare(&it);
    it.found->known = false;
    it.request.target_count = 2;
    assert_int_equal(make(&it)->sent, LEDGER_NO_TARGET);
    assert_int_equal(it.plan->targets[SCUBA].reason, REASON_NEW_MESSAGE);
    assert_int_equal(it.plan->targets[SCUBA].action, PLAN_APPEND);
    assert_string_equal(plan_reason_text(REASON_NEW_MESSAGE), "a new message");
    clear(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inbox),  cmocka_unit_test(test_beside),      cmocka_unit_test(test_alias),
        cmocka_unit_test(test_sent),   cmocka_unit_test(test_left),        cmocka_unit_test(test_sent_owner),
        cmocka_unit_test(test_search), cmocka_unit_test(test_new_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
