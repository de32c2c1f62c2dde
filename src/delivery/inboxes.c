/* SPDX-License-Identifier: ISC
 *
 * From the hold to the commit point. */
#include "delivery/inboxes.h"

#include "delivery/answers.h"
#include "delivery/append.h"
#include "delivery/sent.h"

/* Whether this target is an inbox whose copy is to be made. */
static bool is_made(const struct delivery_work *work, size_t target)
{
    return target != work->plan->sent && plan_is_made(&work->plan->targets[target]);
}

bool inboxes_any(const struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        if (is_made(work, i))
            return true;
    return false;
}

void inboxes_open_first(struct delivery_work *work)
{
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        size_t target = work->targets.order[i];
        if (!is_made(work, target))
            continue;
        const char *account = work->targets.list[target].account;
        if (sessions_get(work->delivery->sessions, account, &work->unreachable_fault) == NULL)
            work->unreachable = target;
        return;
    }
}

static struct made left_for_later(const struct delivery_work *work, size_t target)
{
    struct made made = {.state = COPY_PENDING, .doubt = work->plan->targets[target].doubt};
    report_set(&made.report, OUTCOME_TROUBLE, "other mailboxes took up the time for this message");
    return made;
}

/* made: one for each target. The first copy is tried however little time is left; otherwise a slow database could put
 * it off for ever. */
static void append_inboxes(struct delivery_work *work, struct made *made)
{
    bool first = true;
    for (size_t i = 0; i < work->targets.message.target_count; i++) {
        size_t target = work->targets.order[i];
        if (!is_made(work, target))
            continue;
        bool in_time = first || append_in_time(work->delivery->config);
        made[target] = in_time ? append_copy(work, target) : left_for_later(work, target);
        first = false;
    }
}

/* Gives the report of each copy made to its recipients. */
static void report_copies(struct delivery_work *work, const struct made *made)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        size_t target = work->targets.of_recipient[i];
        if (target == LEDGER_NO_TARGET || recipient->report.given)
            continue;
        recipient->report = made[target].report;
        recipient->uid = made[target].uid;
    }
}

/* After settling: a success counts only if it is in the ledger. */
static void retract(struct delivery_work *work, size_t target, enum outcome outcome, const char *text)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++)
        if (work->targets.of_recipient[i] == target)
            report_set(&delivery->recipients[i].report, outcome, "%s", text);
}

/* The commit point of the inboxes. Returns whether the Sent copy is held now. */
static bool settle_inboxes(struct delivery_work *work, const struct made *made)
{
    struct fault fault;
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    size_t count = 0, target_count = work->targets.message.target_count;
    struct ledger_made *settled OD_CLEANUP(base_free) = base_alloc((target_count + 1) * sizeof(*settled));
    bool *taken OD_CLEANUP(base_free) = base_alloc(target_count + 1);
    bool held = false;
    for (size_t i = 0; i < target_count; i++)
        if (is_made(work, i))
            settled[count++] = append_settled(i, &made[i]);
    const struct ledger_settling settling = {
        .made = settled,
        .made_count = count,
        .answers = answers,
        .next = sent_is_due(work) ? work->plan->sent : LEDGER_NO_TARGET,
    };
    enum ledger_result result = ledger_settle(work->delivery->ledger, work->claim, &settling, &held, taken, &fault);
    for (size_t i = 0; i < count; i++) {
        if (result == LEDGER_TROUBLE)
            retract(work, settled[i].target, OUTCOME_DATABASE, fault.text);
        else if (taken[i])
            retract(work, settled[i].target, OUTCOME_BUSY, "another delivery has taken over");
    }
    return held;
}

bool inboxes_deliver(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct made *made OD_CLEANUP(base_free) = base_alloc((work->targets.message.target_count + 1) * sizeof(*made));
    append_inboxes(work, made);
    report_copies(work, made);
    delivery_spent(delivery, PHASE_IMAP);
    bool held = settle_inboxes(work, made);
    delivery_spent(delivery, PHASE_SETTLE);
    return held;
}
