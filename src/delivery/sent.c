/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

/* Returns true if the copy is not retried; that never bounces the message. */
static bool is_not_retried(const struct delivery_work *work, const struct copy_result *result)
{
    const struct ledger_copy_state *found = &work->found->copies[work->plan->sent];
    bool permanent = outcome_row(result->report.outcome)->final;
    bool too_long = found->state != COPY_STORED &&
                    found->first_age_ms >= work->request->config->delivery.sent_expire_after;
    return result->state != COPY_STORED && (permanent || too_long);
}

static void append_and_settle(struct delivery_work *work)
{
    struct copy_result *result = &work->results[work->plan->sent];
    copy_make(work, work->plan->sent);
    quarantine_append(work, work->plan->sent);
    if (is_not_retried(work, result))
        result->state = COPY_FAILED;
    if (result->state != COPY_STORED && result->state != COPY_FAILED)
        reply_sent(work, result->report.outcome, result->report.text);
    reply_log_sent(work, &result->report, result->uid, result->state == COPY_FAILED);
    delivery_add_time(work->delivery, PHASE_IMAP);
    (void)!claim_settle(work, true);
}

static const char *postponed_because(const struct delivery_work *work, bool held, bool first)
{
    size_t sent = work->plan->sent;
    if (work->plan->targets[sent].same_mailbox && fallback_awaits(work, sent, work->targets.list[sent].mailbox))
        return "another copy may be on its way to its mailbox";
    if (!held)
        return "its claim was lost: another delivery has taken over, or the ledger cannot be written";
    return first || append_fits_deadline(work, sent) ? NULL : NO_TIME_LEFT;
}

void sent_deliver(struct delivery_work *work, bool held, bool first)
{
    const char *text = postponed_because(work, held, first);
    if (text == NULL) {
        append_and_settle(work);
    } else {
        reply_sent(work, OUTCOME_BUSY, text);
        claim_release(work);
    }
}
