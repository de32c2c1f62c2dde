/* SPDX-License-Identifier: ISC
 *
 * Where the time went, and the log lines with the result for each recipient and for the Sent copy. */
#include <signal.h>
#include <stdio.h>

#include "base/log.h"
#include "delivery/delivery.h"

void delivery_spent(struct delivery *delivery, enum delivery_phase phase)
{
    int64_t said = 0;
    for (int i = 0; i < PHASE_COUNT; i++)
        said += delivery->spent_ms[i];
    delivery->spent_ms[phase] += base_now_ms() - delivery->started_ms - said;
}

/* What all lines of a delivery share. */
struct common {
    char id[512], queue_id[128], delays[160];
    const char *holder;
    size_t size;
};

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static void describe(const struct delivery *delivery, struct common *ret)
{
    const struct message *message = delivery->request->message;
    const int64_t *ms = delivery->spent_ms;
    int64_t lock = ms[PHASE_LOCK] + ms[PHASE_DATABASE];
    const char *id = message != NULL ? message->message_id : NULL;
    log_escape_field(id != NULL ? id : "", ret->id, sizeof(ret->id));
    log_escape_field(delivery_queue_id(delivery->request), ret->queue_id, sizeof(ret->queue_id));
    snprintf(ret->delays, sizeof(ret->delays), "delay=%.3f, delays=%.3f/%.3f/%.3f/%.3f",
             seconds(ms[PHASE_READ] + lock + ms[PHASE_IMAP] + ms[PHASE_SETTLE]), seconds(ms[PHASE_READ]), seconds(lock),
             seconds(ms[PHASE_IMAP]), seconds(ms[PHASE_SETTLE]));
    ret->holder = delivery->holder;
    ret->size = message != NULL ? message->size : 0;
}

/* who: "to", or "from" for the Sent copy, which has no recipient. Each value is limited, so that a long one can only
 * push the text off the line. */
static void log_copy(const struct common *common, const char *who, const char *address, const char *account,
                     const char *mailbox, uint32_t uid, const char *status, const struct report *report)
{
    char who_text[384], account_text[320], mailbox_text[320], escaped[2048];
    bool held = report->outcome == OUTCOME_BUSY && common->holder != NULL;
    char *reason OD_CLEANUP(base_free) =
        base_printf("%s%s%s", report->text, held ? "; its lock is held by " : "", held ? common->holder : "");
    log_info("%s: message-id=<%s>, %s=<%s>, account=%s, mailbox=%s, uid=%u, size=%zu, %s, dsn=%s, status=%s (%s)",
             common->queue_id, common->id, who, log_escape_field(address, who_text, sizeof(who_text)),
             log_escape_field(account != NULL ? account : "", account_text, sizeof(account_text)),
             log_escape_field(mailbox != NULL ? mailbox : "", mailbox_text, sizeof(mailbox_text)), uid, common->size,
             common->delays, outcome_row(report->outcome)->dsn, status,
             log_escape_text(reason, escaped, sizeof(escaped)));
}

void delivery_keep_log(const struct delivery *delivery)
{
    size_t count = delivery->request->recipient_count;
    char **lines OD_CLEANUP(base_free) = base_alloc((count + 1) * sizeof(*lines));
    char to[384];
    struct common common;
    describe(delivery, &common);
    for (size_t i = 0; i < count; i++)
        lines[i] = base_printf("%s: message-id=<%s>, to=<%s>, size=%zu, dsn=%s, status=deferred (", common.queue_id,
                               common.id, log_escape_field(delivery->request->recipients[i].address, to, sizeof(to)),
                               common.size, outcome_row(OUTCOME_TROUBLE)->dsn);
    log_keep((const char *const *)lines, count);
    for (size_t i = 0; i < count; i++)
        base_free(&lines[i]);
}

void delivery_log_end(int signal)
{
    log_last(signal == SIGALRM ? "the deadline is over (delivery.deadline))" : "ended by a signal)");
}

void delivery_log(const struct delivery *delivery)
{
    const struct delivery_request *request = delivery->request;
    const struct delivery_sent *sent = &delivery->sent;
    struct common common;
    describe(delivery, &common);
    for (size_t i = 0; i < request->recipient_count; i++) {
        const struct delivery_answer *it = &delivery->answers[i];
        log_copy(&common, "to", request->recipients[i].address, it->route.account, delivery_mailbox(it), it->uid,
                 outcome_row(it->report.outcome)->status, &it->report);
    }
    if (sent->account != NULL)
        log_copy(&common, "from", request->sender, sent->account, sent->mailbox, sent->uid,
                 sent->failed ? "failed" : outcome_row(sent->report.outcome)->status, &sent->report);
}
