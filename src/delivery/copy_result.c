/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

/* Only failures about this message or mailbox may bounce: REFUSED and LIMIT after delivery.refuse_after, OVERQUOTA if
 * configured, TOOBIG. A Sent copy becomes `failed` instead. */
static const struct {
    enum outcome outcome;
    bool certain; /* nothing was stored: only earlier doubt remains */
} meanings[] = {
    [APPEND_UNKNOWN] = {OUTCOME_MAILBOX, false},
    [APPEND_ERROR] = {OUTCOME_MAILBOX, false},
    [APPEND_REFUSED] = {OUTCOME_REFUSED_DEFER, false},
    [APPEND_LIMIT] = {OUTCOME_REFUSED_DEFER, false},
    [APPEND_MAYBE_OVERQUOTA] = {OUTCOME_OVERQUOTA_DEFER, false},
    [APPEND_LOST] = {OUTCOME_MAILBOX, true},
    [APPEND_NOT_SENT] = {OUTCOME_MAILBOX, true},
    [APPEND_UNAVAILABLE] = {OUTCOME_MAILBOX, true},
    [APPEND_NO_MAILBOX] = {OUTCOME_TEMPFAIL, true},
    [APPEND_IMPOSSIBLE] = {OUTCOME_TEMPFAIL, true},
    [APPEND_OVERQUOTA] = {OUTCOME_OVERQUOTA_DEFER, true},
    [APPEND_TOOBIG] = {OUTCOME_TOO_LARGE, true},
    [APPEND_NOPERM] = {OUTCOME_TEMPFAIL, true},
};

int64_t append_time_ms(const struct delivery_work *work, size_t target)
{
    int64_t timeout = target_server(work, target)->imap.timeout;
    int64_t deadline = work->request->config->delivery.deadline;
    int64_t unresponsive = timeout < deadline / 2 ? timeout : deadline / 2;
    return unresponsive + deadline / 10;
}

bool append_fits_deadline(const struct delivery_work *work, size_t target)
{
    return deadline_left_ms() >= append_time_ms(work, target);
}

/* A Sent copy does not wait for longer than it is retried. */
static bool is_refused_for_long(const struct delivery_work *work, size_t target)
{
    const struct config *config = work->request->config;
    int64_t after = config->delivery.refuse_after;
    if (work->targets.list[target].role == COPY_SENT && config->delivery.sent_expire_after < after)
        after = config->delivery.sent_expire_after;
    return work->found->copies[target].first_age_ms >= after;
}

/* A refused notice never bounces the message: the sender did not write it. */
static enum outcome failure_outcome(const struct delivery_work *work, const struct append_item *item,
                                    enum append_result append_result, struct copy_result *result)
{
    const struct config *config = work->request->config;
    enum outcome outcome = meanings[append_result].outcome;
    if (item->notice != NULL)
        return outcome == OUTCOME_TOO_LARGE ? OUTCOME_REFUSED_DEFER : outcome;
    if (append_result == APPEND_OVERQUOTA && config->delivery.overquota == OVERQUOTA_BOUNCE)
        return OUTCOME_OVERQUOTA_BOUNCE;
    if (outcome != OUTCOME_REFUSED_DEFER || !is_refused_for_long(work, item->target))
        return outcome;
    if (config->delivery.refused != REFUSED_QUARANTINE)
        return OUTCOME_REFUSED_BOUNCE;
    result->quarantine = QUARANTINE_DUE;
    return outcome;
}

void copy_result_of_append(const struct delivery_work *work, const struct append_item *item,
                           enum append_result append_result, const struct error *error, struct copy_result *result)
{
    result->fallback = item->fallback;
    if (append_result == APPEND_STORED) {
        result->state = COPY_STORED;
        result->quarantine = item->notice != NULL ? QUARANTINE_STORED : QUARANTINE_NONE;
        report_set(&result->report, OUTCOME_STORED, "stored uid=%u mailbox=%s", result->uid,
                   append_item_mailbox(work, item));
        return;
    }
    enum outcome outcome = failure_outcome(work, item, append_result, result);
    result->impossible = append_result == APPEND_IMPOSSIBLE;
    result->state = outcome_row(outcome)->final       ? COPY_FAILED
                    : append_result == APPEND_UNKNOWN ? COPY_APPENDING
                                                      : COPY_PENDING;
    result->doubt = !meanings[append_result].certain || item->doubt;
    report_set(&result->report, outcome, "%s", error->text);
}
