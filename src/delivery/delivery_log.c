/* SPDX-License-Identifier: ISC */
#include <signal.h>
#include <stdio.h>

#include "base/log.h"
#include "delivery/delivery.h"

void delivery_add_time(struct delivery *delivery, enum delivery_phase phase)
{
    int64_t said = 0;
    for (int i = 0; i < PHASE_COUNT; i++)
        said += delivery->phase_ms[i];
    delivery->phase_ms[phase] += base_now_ms() - delivery->started_ms - said;
}

struct common {
    const char *id, *queue_id, *holder;
    char size[24], delay[24], delays[96];
};

static double in_seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static struct common describe_common(const struct delivery *delivery)
{
    const struct message *message = delivery->request->message;
    const int64_t *ms = delivery->phase_ms;
    int64_t lock = ms[PHASE_LOCK] + ms[PHASE_DATABASE];
    struct common common = {
        .id = message != NULL && message->message_id != NULL ? message->message_id : "",
        .queue_id = delivery_queue_id(delivery->request),
        .holder = delivery->holder,
    };
    snprintf(common.size, sizeof(common.size), "%zu", message != NULL ? message->size : 0);
    snprintf(common.delay, sizeof(common.delay), "%.3f",
             in_seconds(ms[PHASE_READ] + lock + ms[PHASE_IMAP] + ms[PHASE_SETTLE]));
    snprintf(common.delays, sizeof(common.delays), "%.3f/%.3f/%.3f/%.3f", in_seconds(ms[PHASE_READ]), in_seconds(lock),
             in_seconds(ms[PHASE_IMAP]), in_seconds(ms[PHASE_SETTLE]));
    return common;
}

/* who: LOG_FIELD_TO, or LOG_FIELD_FROM for the Sent copy, which has no recipient. */
static void log_copy(const struct common *common, enum log_field_name who, const char *address, const char *account,
                     const char *mailbox, uint32_t uid, const char *status, const struct report *report)
{
    char uid_text[16];
    bool held = report->outcome == OUTCOME_BUSY && common->holder != NULL;
    char *reason OD_CLEANUP(base_free) =
        base_printf("%s%s%s", report->text, held ? "; its lock is held by " : "", held ? common->holder : "");
    snprintf(uid_text, sizeof(uid_text), "%u", uid);
    const struct log_line line = {
        common->queue_id,
        {
            {LOG_FIELD_MESSAGE_ID, common->id},
            {who, address},
            {LOG_FIELD_ACCOUNT, account != NULL ? account : ""},
            {LOG_FIELD_MAILBOX, mailbox != NULL ? mailbox : ""},
            {LOG_FIELD_UID, uid_text},
            {LOG_FIELD_SIZE, common->size},
            {LOG_FIELD_DELAY, common->delay},
            {LOG_FIELD_DELAYS, common->delays},
            {LOG_FIELD_DSN, outcome_row(report->outcome)->dsn},
            {LOG_FIELD_STATUS, status},
        },
    };
    log_fields(&line, reason);
}

void delivery_keep_log(const struct delivery *delivery)
{
    size_t count = delivery->request->recipient_count;
    struct log_line *lines OD_CLEANUP(base_free) = base_alloc((count + 1) * sizeof(*lines));
    struct common common = describe_common(delivery);
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct log_line){
            common.queue_id,
            {
                {LOG_FIELD_MESSAGE_ID, common.id},
                {LOG_FIELD_TO, delivery->request->recipients[i].address},
                {LOG_FIELD_SIZE, common.size},
                {LOG_FIELD_DSN, outcome_row(OUTCOME_TEMPFAIL)->dsn},
                {LOG_FIELD_STATUS, "deferred"},
            },
        };
    log_keep(lines, count);
}

void delivery_log_end(int signal)
{
    log_last(signal == SIGALRM ? DEADLINE_OVER : signal == SIGBUS ? DEADLINE_BUS : DEADLINE_SIGNAL);
}

static void count_unrecorded(const struct delivery *delivery)
{
    const struct delivery_request *request = delivery->request;
    size_t count = 0;
    for (size_t i = 0; !delivery->recorded && i < request->recipient_count; i++)
        count += delivery->replies[i].report.outcome == OUTCOME_DATABASE;
    if (count > 0 && request->config->log.unrecorded_file[0] != '\0')
        counter_add(request->config->log.unrecorded_file, count);
}

void delivery_log(const struct delivery *delivery)
{
    const struct delivery_request *request = delivery->request;
    const struct delivery_sent *sent = &delivery->sent;
    struct common common = describe_common(delivery);
    for (size_t i = 0; i < request->recipient_count; i++) {
        const struct delivery_reply *it = &delivery->replies[i];
        log_copy(&common, LOG_FIELD_TO, request->recipients[i].address, it->route.account, delivery_mailbox(it),
                 it->uid, outcome_row(it->report.outcome)->status, &it->report);
    }
    if (sent->account != NULL)
        log_copy(&common, LOG_FIELD_FROM, request->sender, sent->account, sent->mailbox, sent->uid,
                 sent->failed ? "failed" : outcome_row(sent->report.outcome)->status, &sent->report);
    count_unrecorded(delivery);
}
