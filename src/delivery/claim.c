/* SPDX-License-Identifier: ISC */
#include "delivery/claim.h"

#include "delivery/answers.h"

#define TAKEN_OVER \
    "its claim is not in the ledger any more: another delivery has taken over, or the ledger was replaced"

void claim_copies(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    size_t count = 0, target_count = work->targets.message.target_count;
    struct ledger_copy *copies OD_CLEANUP(base_free) = base_alloc((target_count + 1) * sizeof(*copies));
    for (size_t i = 0; i < target_count; i++)
        if (plan_is_made(&work->plan->targets[i]))
            copies[count++] = (struct ledger_copy){
                .target = i,
                .recipient = i == work->plan->sent ? work->plan->sent_owner
                                                   : targets_first_recipient(&work->targets, i),
                .doubt = work->plan->targets[i].doubt,
                .again = work->found->copies[i].state == COPY_STORED,
            };
    work->claim = ledger_claim(delivery->ledger, &work->targets.message, work->found, copies, count, answers,
                               decoding_result(delivery->decoding));
}

static struct ledger_made describe_made(size_t target, const struct made *made)
{
    bool explained = made->state != COPY_STORED || made->fallback != NULL || made->quarantine == QUARANTINE_STORED;
    bool in_target = made->fallback == NULL; /* the ledger records only the target's UIDs */
    return (struct ledger_made){
        .target = target,
        .state = made->state,
        .doubt = made->doubt,
        .uidvalidity = in_target ? made->uidvalidity : 0,
        .uid = in_target ? made->uid : 0,
        .error = explained && made->report.text[0] != '\0' ? made->report.text : NULL,
    };
}

static void retract(struct delivery_work *work, size_t target, enum outcome outcome, const char *text)
{
    if (target == work->plan->sent)
        answers_sent(work, outcome, text);
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (work->targets.of_recipient[i] == target)
            report_set(&work->delivery->answers[i].report, outcome, "%s", text);
}

bool claim_settle(struct delivery_work *work, bool sent)
{
    const struct plan *plan = work->plan;
    struct fault fault;
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    size_t count = 0, target_count = work->targets.message.target_count;
    struct ledger_made *made OD_CLEANUP(base_free) = base_alloc((target_count + 1) * sizeof(*made));
    bool *taken OD_CLEANUP(base_free) = base_alloc(target_count + 1);
    bool held = false;
    for (size_t i = 0; i < target_count; i++)
        if (plan_is_made(&plan->targets[i]) && (i == plan->sent) == sent)
            made[count++] = describe_made(i, &work->made[i]);
    const struct ledger_settling settling = {
        .made = made,
        .made_count = count,
        .answers = answers,
        .next = plan_makes_sent(plan) && !sent ? plan->sent : LEDGER_NO_TARGET,
    };
    enum ledger_result result = ledger_settle(work->delivery->ledger, work->claim, &settling, &held, taken, &fault);
    for (size_t i = 0; i < count; i++) {
        if (result == LEDGER_TROUBLE)
            retract(work, made[i].target, OUTCOME_DATABASE, fault.text);
        else if (taken[i])
            retract(work, made[i].target, OUTCOME_BUSY, TAKEN_OVER);
    }
    delivery_spent(work->delivery, PHASE_SETTLE);
    return held;
}

void claim_abandon(struct delivery_work *work)
{
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    ledger_abandon(work->delivery->ledger, work->claim, answers);
}
