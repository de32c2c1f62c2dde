/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#define TAKEN_OVER \
    "its claim is not in the ledger any more: another delivery has taken over, or the ledger was replaced"

void claim_copies(struct delivery_work *work, bool if_new, const char *server)
{
    struct delivery *delivery = work->delivery;
    struct ledger_replies replies OD_CLEANUP(reply_clear) = reply_record(work);
    size_t count = 0, target_count = work->targets.message.target_count;
    struct ledger_copy *copies OD_CLEANUP(base_free) = base_alloc((target_count + 1) * sizeof(*copies));
    for (size_t i = 0; i < target_count; i++)
        if (plan_makes_copy(&work->plan->targets[i]))
            copies[count++] = (struct ledger_copy){
                .target = i,
                .recipient = i == work->plan->sent ? work->plan->sent_owner
                                                   : targets_first_recipient(&work->targets, i),
                .doubt = work->plan->targets[i].doubt,
                .again = work->found->copies[i].state == COPY_STORED,
            };
    const struct ledger_message *message = &work->targets.message;
    const struct decoded *decoded = decoding_result(delivery->decoding);
    work->claim =
        if_new ? ledger_claim_if_new(delivery->ledger, message, work->found, copies, count, replies, decoded, server)
               : ledger_claim(delivery->ledger, message, work->found, copies, count, replies, decoded);
}

static struct ledger_copy_result describe_result(size_t target, const struct copy_result *result)
{
    bool explained = result->state != COPY_STORED || result->fallback != NULL ||
                     result->quarantine == QUARANTINE_STORED;
    bool in_target = result->fallback == NULL; /* the ledger records only the target's UIDs */
    return (struct ledger_copy_result){
        .target = target,
        .state = result->state,
        .doubt = result->doubt,
        .uidvalidity = in_target ? result->uidvalidity : 0,
        .uid = in_target ? result->uid : 0,
        .error = explained && result->report.text[0] != '\0' ? result->report.text : NULL,
    };
}

static void retract(struct delivery_work *work, size_t target, enum outcome outcome, const char *text)
{
    if (target == work->plan->sent)
        reply_sent(work, outcome, text);
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (work->targets.of_recipient[i] == target)
            report_set(&work->delivery->replies[i].report, outcome, "%s", text);
}

bool claim_settle(struct delivery_work *work, bool sent)
{
    const struct plan *plan = work->plan;
    struct error error;
    struct ledger_replies replies OD_CLEANUP(reply_clear) = reply_record(work);
    size_t count = 0, target_count = work->targets.message.target_count;
    struct ledger_copy_result *result OD_CLEANUP(base_free) = base_alloc((target_count + 1) * sizeof(*result));
    bool *taken OD_CLEANUP(base_free) = base_alloc(target_count + 1);
    bool held = false;
    for (size_t i = 0; i < target_count; i++)
        if (plan_makes_copy(&plan->targets[i]) && (i == plan->sent) == sent)
            result[count++] = describe_result(i, &work->results[i]);
    const struct ledger_settling settling = {
        .result = result,
        .result_count = count,
        .replies = replies,
        .next = plan_makes_sent(plan) && !sent ? plan->sent : LEDGER_NO_TARGET,
    };
    enum ledger_result status = ledger_settle(work->delivery->ledger, work->claim, &settling, &held, taken, &error);
    for (size_t i = 0; i < count; i++) {
        if (status == LEDGER_ERROR)
            retract(work, result[i].target, OUTCOME_DATABASE, error.text);
        else if (taken[i])
            retract(work, result[i].target, OUTCOME_BUSY, TAKEN_OVER);
    }
    delivery_add_time(work->delivery, PHASE_SETTLE);
    return held;
}

void claim_release(struct delivery_work *work)
{
    struct ledger_replies replies OD_CLEANUP(reply_clear) = reply_record(work);
    ledger_release(work->delivery->ledger, work->claim, replies);
}
