/* SPDX-License-Identifier: ISC */
#include "delivery/sent.h"

#include "delivery/answers.h"
#include "delivery/claim.h"
#include "delivery/copy.h"
#include "delivery/fallback.h"
#include "delivery/quarantine.h"

/* Returns true if the copy is not retried; that never bounces the message. */
static bool is_given_up(const struct delivery_work *work, const struct made *made)
{
    const struct ledger_found_copy *found = &work->found->copies[work->plan->sent];
    bool permanent = outcome_row(made->report.outcome)->final;
    bool too_long = found->state != COPY_STORED && found->first_age_ms >= work->request->config->delivery.sent_retry;
    return made->state != COPY_STORED && (permanent || too_long);
}

static void append_and_settle(struct delivery_work *work)
{
    struct made *made = &work->made[work->plan->sent];
    copy_make(work, work->plan->sent);
    quarantine_append(work, work->plan->sent);
    if (is_given_up(work, made))
        made->state = COPY_FAILED;
    if (made->state != COPY_STORED && made->state != COPY_FAILED)
        answers_sent(work, made->report.outcome, made->report.text);
    answers_log_sent(work, &made->report, made->uid, made->state == COPY_FAILED);
    delivery_spent(work->delivery, PHASE_IMAP);
    (void)!claim_settle(work, true);
}

static const char *why_not_now(const struct delivery_work *work, bool held, bool first)
{
    size_t sent = work->plan->sent;
    if (work->plan->targets[sent].alias && fallback_awaits(work, sent, work->targets.list[sent].mailbox))
        return "another copy may be on its way to its mailbox";
    if (!held)
        return "not held";
    return first || made_in_time(work, sent) ? NULL : "no time was left for it (delivery.deadline)";
}

void sent_deliver(struct delivery_work *work, bool held, bool first)
{
    const char *text = why_not_now(work, held, first);
    if (text == NULL) {
        append_and_settle(work);
    } else {
        answers_sent(work, OUTCOME_BUSY, text);
        claim_abandon(work);
    }
}
