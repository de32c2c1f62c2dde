/* SPDX-License-Identifier: ISC */
#include "delivery/look.h"

#include <string.h>

#include "delivery/answers.h"
#include "delivery/fallback.h"
#include "delivery/search.h"

static bool is_concerned(const struct delivery_request *request, const struct ledger_target *target)
{
    return request->only_account == NULL || strcmp(request->only_account, target->account) == 0;
}

/* Returns true with the report set if an absent copy may have been deleted, or the check failed. */
static bool stays_deleted(struct delivery_work *work, size_t target, struct report *report)
{
    struct fault fault;
    enum absence absence = work->request->again == AGAIN_LOST ? search_absence(work, target, &fault) : ABSENCE_LOST;
    if (absence == ABSENCE_TROUBLE)
        report_set(report, OUTCOME_MAILBOX, "%s", fault.text);
    else if (absence == ABSENCE_DELETED)
        report_set(report, OUTCOME_DELETED, "not in mailbox=%s any more, perhaps deleted: left so (--deleted)",
                   work->targets.list[target].mailbox);
    return absence != ABSENCE_LOST;
}

/* Returns true if the copy is skipped; the report says why. */
static bool look_for(struct delivery_work *work, size_t target, struct made *made)
{
    struct letter letter = letter_planned(work, target);
    if (!made_in_time(work, target)) {
        report_set(&made->report, OUTCOME_TROUBLE, "other mailboxes took up the time for this message");
        return true;
    }
    return search_copy(work, &letter, made) != SEARCH_ABSENT || !fallback_search(work, &letter, made) ||
           stays_deleted(work, target, &made->report);
}

/* Returns true if a target in any state is skipped. */
static bool look_at(struct delivery_work *work, size_t target, struct made *made)
{
    const struct delivery_request *request = work->request;
    const struct ledger_target *it = &work->targets.list[target];
    bool verify = request->again == AGAIN_VERIFY, known = work->found->copies[target].state != COPY_NONE;
    if (work->plan->targets[target].why == WHY_VERIFIED && plan_is_made(&work->plan->targets[target]) &&
        is_concerned(request, it))
        return look_for(work, target, made);
    if (verify || (known && is_concerned(request, it)))
        return false;
    if (!known && is_concerned(request, it))
        report_set(&made->report, OUTCOME_CONFIG,
                   "it was stored elsewhere: its address leads to account=%s mailbox=%s now", it->account, it->mailbox);
    return true;
}

static void give_report(struct delivery_work *work, size_t target, const struct made *made)
{
    if (!made->report.given)
        return;
    if (target == work->plan->sent)
        answers_log_sent(work, &made->report, made->uid, false);
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct delivery_answer *answer = &work->delivery->answers[i];
        if (work->targets.of_recipient[i] != target)
            continue;
        answer->report = made->report;
        answer->uid = made->uid;
        answer->filed = made->state == COPY_STORED ? made->fallback : NULL;
    }
}

bool *look_into_mailboxes(struct delivery_work *work)
{
    size_t count = work->targets.message.target_count;
    bool *left = base_alloc(count + 1);
    work->looking = true;
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        struct made made = {.state = COPY_PENDING};
        left[target] = look_at(work, target, &made);
        give_report(work, target, &made);
    }
    work->looking = false;
    delivery_spent(work->delivery, PHASE_IMAP);
    return left;
}
