/* SPDX-License-Identifier: ISC */
#include "delivery/made.h"

#include "base/deadline.h"

/* Only failures about this message or mailbox may bounce: REFUSED and LIMIT after delivery.reject_after, OVERQUOTA if
 * configured, TOOBIG. A Sent copy becomes `failed` instead. */
static const struct {
    enum outcome outcome;
    bool certain; /* nothing was stored: only earlier doubt remains */
} meanings[] = {
    [APPEND_UNKNOWN] = {OUTCOME_MAILBOX, false},
    [APPEND_TROUBLE] = {OUTCOME_MAILBOX, false},
    [APPEND_REFUSED] = {OUTCOME_REFUSED_DEFER, false},
    [APPEND_LIMIT] = {OUTCOME_REFUSED_DEFER, false},
    [APPEND_PERHAPS_OVERQUOTA] = {OUTCOME_OVERQUOTA_DEFER, false},
    [APPEND_LOST] = {OUTCOME_MAILBOX, true},
    [APPEND_NOT_SENT] = {OUTCOME_MAILBOX, true},
    [APPEND_UNAVAILABLE] = {OUTCOME_MAILBOX, true},
    [APPEND_NO_MAILBOX] = {OUTCOME_TROUBLE, true},
    [APPEND_NEVER] = {OUTCOME_TROUBLE, true},
    [APPEND_OVERQUOTA] = {OUTCOME_OVERQUOTA_DEFER, true},
    [APPEND_TOOBIG] = {OUTCOME_TOO_LARGE, true},
    [APPEND_NOPERM] = {OUTCOME_TROUBLE, true},
};

bool made_in_time(const struct delivery_work *work, size_t target)
{
    int64_t timeout = target_server(work, target)->imap.timeout;
    int64_t deadline = work->request->config->delivery.deadline;
    int64_t silent = timeout < deadline / 2 ? timeout : deadline / 2;
    return deadline_left_ms() >= silent + deadline / 10;
}

/* A Sent copy does not wait for longer than it is retried. */
static bool is_refused_for_long(const struct delivery_work *work, size_t target)
{
    const struct config *config = work->request->config;
    int64_t after = config->delivery.reject_after;
    if (work->targets.list[target].role == COPY_SENT && config->delivery.sent_retry < after)
        after = config->delivery.sent_retry;
    return work->found->copies[target].first_age_ms >= after;
}

/* A refused notice never bounces the message: the sender did not write it. */
static enum outcome failure_outcome(const struct delivery_work *work, const struct letter *letter,
                                    enum append_result result, struct made *made)
{
    const struct config *config = work->request->config;
    enum outcome outcome = meanings[result].outcome;
    if (letter->explanation != NULL)
        return outcome == OUTCOME_TOO_LARGE ? OUTCOME_REFUSED_DEFER : outcome;
    if (result == APPEND_OVERQUOTA && config->delivery.overquota == OVERQUOTA_BOUNCE)
        return OUTCOME_OVERQUOTA_BOUNCE;
    if (outcome != OUTCOME_REFUSED_DEFER || !is_refused_for_long(work, letter->target))
        return outcome;
    if (config->delivery.rejected != REJECTED_QUARANTINE)
        return OUTCOME_REFUSED_BOUNCE;
    made->quarantine = QUARANTINE_DUE;
    return outcome;
}

void made_by_append(const struct delivery_work *work, const struct letter *letter, enum append_result result,
                    const struct fault *fault, struct made *made)
{
    made->fallback = letter->fallback;
    if (result == APPEND_STORED) {
        made->state = COPY_STORED;
        made->quarantine = letter->explanation != NULL ? QUARANTINE_STORED : QUARANTINE_NONE;
        report_set(&made->report, OUTCOME_STORED, "stored uid=%u mailbox=%s", made->uid, letter_mailbox(work, letter));
        return;
    }
    enum outcome outcome = failure_outcome(work, letter, result, made);
    made->never = result == APPEND_NEVER;
    made->state = outcome_row(outcome)->final ? COPY_FAILED : result == APPEND_UNKNOWN ? COPY_APPENDING : COPY_PENDING;
    made->doubt = !meanings[result].certain || letter->doubt;
    report_set(&made->report, outcome, "%s", fault->text);
}
