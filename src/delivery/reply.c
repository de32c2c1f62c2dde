/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

static const char *message_id(const struct delivery_work *work)
{
    return work->targets.message_id != NULL ? work->targets.message_id : "";
}

void reply_rest(struct delivery_work *work, enum outcome outcome, const char *text)
{
    struct delivery_reply *replies = work->delivery->replies;
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (work->targets.of_recipient[i] != LEDGER_NO_TARGET && !replies[i].report.given)
            report_set(&replies[i].report, outcome, "%s", text);
}

static char *busy_text(const struct delivery_work *work, const char *separator, const char *text)
{
    return base_printf("message <%s> is being delivered elsewhere%s%s", message_id(work), separator, text);
}

void reply_busy(struct delivery_work *work)
{
    char *text OD_CLEANUP(base_free) = busy_text(work, "", "");
    reply_rest(work, OUTCOME_BUSY, text);
}

void reply_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text)
{
    char *busy OD_CLEANUP(base_free) = busy_text(work, ": ", text);
    bool conflict = result == LEDGER_CONFLICT;
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (plan_goes_on(work->plan, work->targets.of_recipient[i]))
            report_set(&work->delivery->replies[i].report, conflict ? OUTCOME_BUSY : OUTCOME_DATABASE, "%s",
                       conflict ? busy : text);
}

static void report_claimed(const struct delivery_work *work, size_t target, struct report *report)
{
    const struct ledger_copy_state *copy = &work->found->copies[target];
    int64_t hold_off = work->request->config->delivery.hold_off;
    bool own = copy->state == COPY_APPENDING && ledger_in_hold_off(copy->claim_age_ms, hold_off);
    int64_t age = own ? copy->claim_age_ms : copy->sibling_age_ms;
    report_set(report, OUTCOME_BUSY, "message <%s> is %s: claimed %lld s ago, left alone for another %lld s",
               message_id(work), plan_reason_text(work->plan->targets[target].reason), (long long)(age / 1000),
               (long long)((ledger_hold_off_left(age, hold_off) + 999) / 1000));
}

void reply_by_plan(struct delivery_work *work)
{
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct delivery_reply *reply = &work->delivery->replies[i];
        size_t target = work->targets.of_recipient[i];
        if (target == LEDGER_NO_TARGET || reply->report.given)
            continue;
        if (work->plan->targets[target].action == PLAN_DUPLICATE) {
            reply->uid = (uint32_t)work->found->copies[target].uid;
            report_set(&reply->report, OUTCOME_DUPLICATE, "duplicate uid=%u mailbox=%s", reply->uid,
                       work->targets.list[target].mailbox);
        } else if (work->plan->targets[target].action == PLAN_BUSY) {
            report_claimed(work, target, &reply->report);
        }
    }
}

static void preview(const struct delivery_work *work, size_t target, struct report *report)
{
    const char *mailbox = work->targets.list[target].mailbox;
    enum plan_reason why = work->plan->targets[target].reason;
    if (work->request->id_only)
        report_set(report, OUTCOME_MISSING, "missing in mailbox=%s, and its bytes are not recorded", mailbox);
    else if (why == REASON_VERIFIED)
        report_set(report, OUTCOME_STORED, "would be restored in mailbox=%s", mailbox);
    else
        report_set(report, OUTCOME_STORED, "would be stored in mailbox=%s (%s)", mailbox, plan_reason_text(why));
}

void reply_preview(struct delivery_work *work)
{
    size_t sent = work->plan->sent;
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        struct report *report = &work->delivery->replies[i].report;
        size_t target = work->targets.of_recipient[i];
        if (target == LEDGER_NO_TARGET || report->given)
            continue;
        preview(work, target, report);
    }
    if (!plan_makes_sent(work->plan))
        return;
    struct report report;
    preview(work, sent, &report);
    reply_log_sent(work, &report, 0, false);
}

/* Returns the recipient to retry for the Sent copy: its owner or, if that one bounced, one that succeeded.
 * LEDGER_OTHER: none of this delivery. */
static size_t find_sent_owner(const struct delivery_work *work)
{
    const struct delivery_reply *replies = work->delivery->replies;
    size_t owner = work->plan->sent_owner;
    if (owner == LEDGER_OTHER)
        return owner;
    const struct outcome_row *row = outcome_row(replies[owner].report.outcome);
    for (size_t i = 0; row->final && row->exit_status != 0 && i < work->request->recipient_count; i++)
        if (replies[i].report.given && outcome_row(replies[i].report.outcome)->exit_status == 0)
            return i;
    return owner;
}

void reply_log_sent(struct delivery_work *work, const struct report *report, uint32_t uid, bool failed)
{
    const struct ledger_target *target = &work->targets.list[work->plan->sent];
    struct delivery_sent *sent = &work->delivery->sent;
    base_free(&sent->account);
    base_free(&sent->mailbox);
    *sent = (struct delivery_sent){
        .account = base_strdup(target->account),
        .mailbox = base_strdup(target->mailbox),
        .failed = failed,
        .uid = uid,
    };
    report_set(&sent->report, report->outcome, "Sent copy%s: %s", failed ? " failed" : "", report->text);
}

void reply_sent(struct delivery_work *work, enum outcome outcome, const char *text)
{
    struct report why = {.given = false};
    size_t who = find_sent_owner(work);
    report_set(&why, outcome, "%s", text);
    reply_log_sent(work, &why, 0, false);
    if (who == LEDGER_OTHER)
        return;
    struct report *report = &work->delivery->replies[who].report;
    if (outcome_row(report->outcome)->exit_status == 0)
        report_set(report, outcome, "Sent copy of %s: %s", work->targets.sender.account, text);
}

static bool sent_is_open(const struct delivery_work *work)
{
    const struct plan *plan = work->plan;
    if (!plan_makes_sent(plan))
        return plan->sent_waits;
    enum copy_state state = work->results[plan->sent].state;
    return state != COPY_STORED && state != COPY_FAILED;
}

static struct ledger_times phase_times(const struct delivery *delivery)
{
    const int64_t *ms = delivery->phase_ms;
    return (struct ledger_times){
        .read = ms[PHASE_READ],
        .lock = ms[PHASE_LOCK],
        .database = ms[PHASE_DATABASE] + ms[PHASE_SETTLE],
        .imap = ms[PHASE_IMAP],
    };
}

struct ledger_replies reply_record(const struct delivery_work *work)
{
    const struct delivery *delivery = work->delivery;
    struct ledger_reply *replies = base_alloc((work->request->recipient_count + 1) * sizeof(*replies));
    size_t count = 0, will_retry = sent_is_open(work) ? find_sent_owner(work) : LEDGER_OTHER;
    for (size_t i = 0; i < work->request->recipient_count; i++) {
        const struct report *report = &delivery->replies[i].report;
        const struct outcome_row *row = outcome_row(report->outcome);
        size_t target = work->targets.of_recipient[i];
        if (!plan_goes_on(work->plan, target) || (work->skipped != NULL && work->skipped[target]))
            continue;
        replies[count++] = (struct ledger_reply){
            .recipient = i,
            .outcome = report->given ? row->name : "claimed",
            .reason = report->given ? report->text : NULL,
            .finished = report->given && row->final && (i != will_retry || row->exit_status != 0),
            .complete = work->complete,
        };
    }
    return (struct ledger_replies){.replies = replies, .count = count, .times = phase_times(delivery)};
}

void reply_clear(struct ledger_replies *replies)
{
    base_free(&replies->replies);
}

static bool recipient_is_recorded(const struct delivery_work *work, size_t recipient)
{
    size_t target = work->targets.of_recipient[recipient];
    if (target == LEDGER_NO_TARGET || work->plan->targets[target].action != PLAN_DUPLICATE)
        return false;
    const struct ledger_copy_state *copy = &work->found->copies[target];
    return copy->owner == recipient && copy->recorded_today;
}

bool reply_is_recorded(const struct delivery_work *work)
{
    const struct plan *plan = work->plan;
    if (!work->request->skip_recorded || work->request->redeliver != REDELIVER_NO)
        return false;
    if (plan->sent != LEDGER_NO_TARGET && plan->targets[plan->sent].action != PLAN_DUPLICATE)
        return false;
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (!recipient_is_recorded(work, i))
            return false;
    return true;
}
