/* SPDX-License-Identifier: ISC
 *
 * A copy that cannot be made is put off, or given up. */
#include "delivery/sent.h"

#include "delivery/answers.h"
#include "delivery/copy.h"
#include "delivery/quarantine.h"

/* If the Sent copy cannot be made for longer than sent_retry, it is given up: it never bounces the message. */
static void give_up_sent(const struct delivery_work *work, struct made *made)
{
    const struct ledger_found_copy *found = &work->found->copies[work->plan->sent];
    bool permanent = outcome_row(made->report.outcome)->final;
    bool too_long = found->state != COPY_STORED && found->first_age_ms >= work->request->config->delivery.sent_retry;
    if (made->state == COPY_STORED || (!permanent && !too_long))
        return;
    made->state = COPY_FAILED;
}

static void settle_sent(struct delivery_work *work, const struct made *made)
{
    struct fault fault;
    bool next, taken;
    const struct ledger_made settled = made_settled(work->plan->sent, made);
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    const struct ledger_settling settling = {
        .made = &settled,
        .made_count = 1,
        .answers = answers,
        .next = LEDGER_NO_TARGET,
    };
    switch (ledger_settle(work->delivery->ledger, work->claim, &settling, &next, &taken, &fault)) {
    case LEDGER_OK:
        break;
    case LEDGER_BUSY:
        answers_sent(work, OUTCOME_BUSY, "another delivery has taken over");
        break;
    case LEDGER_TROUBLE:
        answers_sent(work, OUTCOME_DATABASE, fault.text);
        break;
    }
}

static void put_off(struct delivery_work *work, const char *text)
{
    answers_sent(work, OUTCOME_BUSY, text);
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    ledger_abandon(work->delivery->ledger, work->claim, answers);
}

static void append_and_settle(struct delivery_work *work)
{
    struct made made = copy_make(work, work->plan->sent);
    quarantine_append(work, work->plan->sent, &made);
    give_up_sent(work, &made);
    work->sent_done = made.state == COPY_STORED || made.state == COPY_FAILED;
    if (!work->sent_done)
        answers_sent(work, made.report.outcome, made.report.text);
    answers_log_sent(work, &made.report, made.uid, made.state == COPY_FAILED);
    delivery_spent(work->delivery, PHASE_IMAP);
    settle_sent(work, &made);
    delivery_spent(work->delivery, PHASE_SETTLE);
}

void sent_deliver(struct delivery_work *work, bool held, bool first)
{
    if (work->sent_fenced)
        put_off(work, "another copy may be on its way to its mailbox");
    else if (!held)
        put_off(work, "not held");
    else if (!first && !made_in_time(work->request->config))
        put_off(work, "no time was left for it (delivery.deadline)");
    else
        append_and_settle(work);
}
