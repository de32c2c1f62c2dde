/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include <string.h>

static bool is_concerned(const struct delivery_request *request, const struct ledger_target *target)
{
    return request->only_account == NULL || strcmp(request->only_account, target->account) == 0;
}

/* Returns true with the report set if an absent copy may have been deleted, or the check failed. */
static bool stays_deleted(struct delivery_work *work, size_t target, struct report *report)
{
    struct error error;
    enum search_result why = work->request->redeliver == REDELIVER_LOST ? search_explain_missing(work, target, &error)
                                                                        : SEARCH_MISSING;
    if (why == SEARCH_UNKNOWN)
        report_set(report, OUTCOME_MAILBOX, "%s", error.text);
    else if (why == SEARCH_DELETED)
        report_set(report, OUTCOME_DELETED,
                   "not in mailbox=%s any more, may be deleted: not restored without --include-deleted",
                   work->targets.list[target].mailbox);
    return why != SEARCH_MISSING;
}

/* Returns true if the copy is skipped; the report says why. */
static bool search_mailboxes(struct delivery_work *work, size_t target, struct copy_result *result)
{
    struct append_item item = append_item_planned(work, target);
    if (!append_fits_deadline(work, target)) {
        report_set(&result->report, OUTCOME_TEMPFAIL, NO_TIME_LEFT);
        return true;
    }
    return search_copy(work, &item, result) != SEARCH_MISSING || !fallback_search(work, &item, result) ||
           stays_deleted(work, target, &result->report);
}

/* Returns true if a target in any state is skipped. */
static bool verify_target(struct delivery_work *work, size_t target, struct copy_result *result)
{
    const struct delivery_request *request = work->request;
    const struct ledger_target *it = &work->targets.list[target];
    bool verify = request->redeliver == REDELIVER_VERIFY, known = work->found->copies[target].state != COPY_NONE;
    if (work->plan->targets[target].reason == REASON_VERIFIED && plan_makes_copy(&work->plan->targets[target]) &&
        is_concerned(request, it))
        return search_mailboxes(work, target, result);
    if (verify || (known && is_concerned(request, it)))
        return false;
    if (!known && is_concerned(request, it))
        report_set(&result->report, OUTCOME_CONFIG,
                   "it was stored elsewhere: its address leads to account=%s mailbox=%s now", it->account, it->mailbox);
    return true;
}

static void set_reports(struct delivery_work *work, size_t target, const struct copy_result *result)
{
    if (!result->report.given)
        return;
    if (target == work->plan->sent)
        reply_log_sent(work, &result->report, result->uid, false);
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct delivery_reply *reply = &work->delivery->replies[i];
        if (work->targets.of_recipient[i] != target)
            continue;
        reply->report = result->report;
        reply->uid = result->uid;
        reply->filed = result->state == COPY_STORED ? result->fallback : NULL;
    }
}

bool *verify_copies(struct delivery_work *work)
{
    size_t count = work->targets.message.target_count;
    bool *skipped = base_alloc(count + 1);
    work->read_only = true;
    for (size_t i = 0; i < count; i++) {
        size_t target = work->targets.order[i];
        struct copy_result result = {.state = COPY_PENDING};
        skipped[target] = verify_target(work, target, &result);
        set_reports(work, target, &result);
    }
    work->read_only = false;
    delivery_add_time(work->delivery, PHASE_IMAP);
    return skipped;
}
