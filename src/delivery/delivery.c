/* SPDX-License-Identifier: ISC */
#include "delivery/delivery.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/deadline.h"
#include "base/log.h"
#include "delivery/append.h"
#include "delivery/copies.h"
#include "delivery/preview.h"
#include "delivery/server.h"

/* Gives every recipient that has a copy and no answer yet this one. */
static void report_rest(struct delivery_work *work, enum outcome outcome, const char *text)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        if (recipient->copy != COPIES_NO_COPY && recipient->report.text[0] == '\0')
            report_set(&recipient->report, outcome, "%s", text);
    }
}

static void report_held(struct delivery_work *work)
{
    char *text OD_CLEANUP(base_free) =
        base_printf("message <%s> is being delivered elsewhere", work->message_id != NULL ? work->message_id : "");
    report_rest(work, OUTCOME_HELD, text);
}

static void report_ledger(struct delivery_work *work, enum ledger_result result, const struct fault *fault)
{
    if (result == LEDGER_HELD)
        report_held(work);
    else
        report_rest(work, OUTCOME_DATABASE, fault->text);
}

/* Who is to come again for the Sent copy: its owner, or, when that one was refused for good, another that was stored. */
static struct report *sent_report(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct report *owner = &delivery->recipients[work->sent_owner].report;
    const struct outcome_row *row = outcome_row(owner->outcome);
    for (size_t i = 0; row->final && row->exit_status != 0 && i < delivery->recipient_count; i++)
        if (outcome_row(delivery->recipients[i].report.outcome)->exit_status == 0)
            return &delivery->recipients[i].report;
    return owner;
}

/* A Sent copy that still has to be made keeps a delivery from succeeding, so that Postfix comes again. */
static void report_sent(struct delivery_work *work, enum outcome outcome, const char *text)
{
    struct report *report = sent_report(work);
    if (outcome_row(report->outcome)->exit_status == 0)
        report_set(report, outcome, "Sent copy of %s: %s", work->sender.account, text);
}

static int64_t lap(int64_t *since)
{
    int64_t now = base_now_ms(), passed = now - *since;
    *since = now;
    return passed;
}

/* The answers as they stand go into the delivery rows with the next call to the ledger. */
static void write_deliveries(struct delivery_work *work, bool sent_is_open)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        const struct report *report = &delivery->recipients[i].report;
        struct ledger_delivery *row = &work->deliveries[i];
        bool answered = report->text[0] != '\0';
        row->outcome = answered ? outcome_row(report->outcome)->name : "claimed";
        row->reason = answered ? report->text : NULL;
        row->finished = answered && outcome_row(report->outcome)->final && !(sent_is_open && i == work->sent_owner);
        row->whole = work->whole;
    }
}

static void open_first_session(struct delivery_work *work)
{
    for (size_t i = 0; i < work->claim.copy_count; i++) {
        const struct ledger_copy *copy = &work->copies[work->order[i]];
        if (!copy->wanted || copy->role != COPY_INBOX)
            continue;
        if (sessions_get(work->delivery->sessions, copy->account, &work->unreachable_fault) == NULL)
            work->unreachable = copy;
        return;
    }
}

/* Claim: what is to be made is committed as `appending` before anything is sent; the record goes with it, and while
 * the database works the first IMAP session is opened. */
static void claim(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    write_deliveries(work, work->sent_waits || (work->sent != NULL && work->sent->wanted));
    ledger_claim(delivery->ledger, &work->claim, decoding_result(delivery->decoding));
    open_first_session(work);
}

/* Nothing is to be made: what was found is written down. A delivery whose end is not recorded would stay open for ever:
 * it comes again. */
static void record_answers(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct fault fault;
    bool any = false;
    for (size_t i = 0; i < delivery->recipient_count; i++)
        any = any || work->deliveries[i].wanted;
    if (!any) {
        ledger_rollback(delivery->ledger);
        return;
    }
    write_deliveries(work, work->sent_waits);
    ledger_claim(delivery->ledger, &work->claim, NULL);
    if (ledger_hold(delivery->ledger, &work->claim, &fault) == LEDGER_OK)
        return;
    ledger_undo(delivery->ledger, &work->claim);
    for (size_t i = 0; i < delivery->recipient_count; i++)
        if (work->deliveries[i].wanted)
            report_set(&delivery->recipients[i].report, OUTCOME_DATABASE, "%s", fault.text);
}

/* Hold: only when this says true may anything be appended. */
static bool hold(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct fault fault = {.text = ""};
    enum ledger_result result = ledger_hold(delivery->ledger, &work->claim, &fault);
    bool gone = delivery->reader_gone != NULL && delivery->reader_gone();
    work->whole = !gone;
    if (result == LEDGER_OK && !gone)
        return true;
    if (result == LEDGER_OK)
        report_rest(work, OUTCOME_TROUBLE, "the reader of our answer is gone: the message may be cut short");
    else
        report_ledger(work, result, &fault);
    if (work->sent_waits || (work->sent != NULL && work->sent->wanted))
        report_sent(work, OUTCOME_HELD, "not held");
    write_deliveries(work, true);
    ledger_undo(delivery->ledger, &work->claim);
    return false;
}

/* Time that the next copy may take, if its server is silent, and the settling after it: the deadline would leave all the
 * others unsettled. */
static bool time_for_another(const struct config *config)
{
    int64_t silent = config->imap.timeout < config->delivery.deadline / 2 ? config->imap.timeout
                                                                          : config->delivery.deadline / 2;
    return deadline_left_ms() >= silent + config->delivery.deadline / 10;
}

static void leave_for_later(struct ledger_copy *copy, struct report *report)
{
    static const char text[] = "other mailboxes took the time there was for this message";
    copy->new_state = COPY_PENDING;
    copy->new_doubt = copy->doubt;
    strcpy(copy->error, text);
    report_set(report, OUTCOME_TROUBLE, text);
}

static void append_inboxes(struct delivery_work *work, struct report *reports)
{
    bool first = true;
    for (size_t i = 0; i < work->claim.copy_count; i++) {
        size_t place = work->order[i];
        struct ledger_copy *copy = &work->copies[place];
        if (!copy->wanted || copy->role != COPY_INBOX)
            continue;
        if (first || time_for_another(work->delivery->config))
            append_copy(work, copy, &reports[place]);
        else
            leave_for_later(copy, &reports[place]);
        first = false;
    }
}

/* The recipients of each copy made are given its report. */
static void report_copies(struct delivery_work *work, const struct report *reports)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        if (recipient->copy == COPIES_NO_COPY || recipient->report.text[0] != '\0')
            continue;
        recipient->report = reports[recipient->copy];
        recipient->uid = work->copies[recipient->copy].new_uid;
    }
}

/* After settling: a success stands only if the ledger has it. */
static void retract(struct delivery_work *work, enum ledger_result result, const struct fault *fault)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        if (recipient->copy == COPIES_NO_COPY || !work->copies[recipient->copy].wanted)
            continue;
        if (result == LEDGER_TROUBLE)
            report_set(&recipient->report, OUTCOME_DATABASE, "%s", fault->text);
        else if (work->copies[recipient->copy].new_state == COPY_NONE)
            report_set(&recipient->report, OUTCOME_HELD, "another delivery has taken over");
    }
}

/* The recipients' mailboxes: append, then settle, which is their commit point. Returns whether Sent is held next. */
static bool deliver_inboxes(struct delivery_work *work, struct ledger_copy *sent)
{
    struct delivery *delivery = work->delivery;
    struct report *reports OD_CLEANUP(base_free) = base_alloc((work->claim.copy_count + 1) * sizeof(*reports));
    struct fault fault;
    bool sent_held = false;
    int64_t since = base_now_ms();
    append_inboxes(work, reports);
    report_copies(work, reports);
    delivery->imap_ms = lap(&since);
    write_deliveries(work, sent != NULL || work->sent_waits);
    if (sent != NULL)
        sent->wanted = false;
    enum ledger_result result = ledger_settle(delivery->ledger, &work->claim, sent, &sent_held, &fault);
    if (result != LEDGER_OK)
        retract(work, result, &fault);
    for (size_t i = 0; i < work->claim.copy_count; i++)
        work->copies[i].wanted = false;
    delivery->settle_ms = lap(&since);
    return sent_held;
}

/* What stands in the way of the Sent copy for longer than sent_retry is given up: it never bounces the message. */
static void give_up_sent(struct delivery_work *work, struct ledger_copy *sent, const struct report *report)
{
    bool permanent = outcome_row(report->outcome)->final;
    bool too_long = sent->state != COPY_STORED && sent->first_age_ms >= work->delivery->config->delivery.sent_retry;
    if (sent->new_state == COPY_STORED || (!permanent && !too_long))
        return;
    sent->new_state = COPY_FAILED;
    char id[512], account[320], text[1024];
    log_warning("Sent copy of <%s> for %s given up: %s",
                log_escape_field(work->message_id != NULL ? work->message_id : "", id, sizeof(id)),
                log_escape_field(sent->account, account, sizeof(account)),
                log_escape_text(report->text, text, sizeof(text)));
}

/* The sender's Sent mailbox, held anew: so that a slow or broken one holds up nobody's inbox. first: nothing was
 * appended before it; then it is tried whatever time is left, or a slow database would put it off at every try. */
static void deliver_sent(struct delivery_work *work, struct ledger_copy *sent, bool held, bool first)
{
    struct report report = {.text = ""};
    struct fault fault;
    bool ignored;
    sent->wanted = true;
    if (!held || (!first && !time_for_another(work->delivery->config))) {
        report_sent(work, OUTCOME_HELD, held ? "no time was left for it (delivery.deadline)" : "not held");
        write_deliveries(work, true);
        ledger_undo(work->delivery->ledger, &work->claim);
        return;
    }
    append_copy(work, sent, &report);
    give_up_sent(work, sent, &report);
    bool done = sent->new_state == COPY_STORED || sent->new_state == COPY_FAILED;
    if (!done)
        report_sent(work, report.outcome, report.text);
    write_deliveries(work, false);
    enum ledger_result result = ledger_settle(work->delivery->ledger, &work->claim, NULL, &ignored, &fault);
    if (result == LEDGER_TROUBLE)
        report_sent(work, OUTCOME_DATABASE, fault.text);
    else if (result == LEDGER_HELD)
        report_sent(work, OUTCOME_HELD, "another delivery has taken over");
}

void delivery_begin(struct delivery *delivery, struct fault *fault)
{
    enum record_level level = delivery->dry_run ? RECORD_ENVELOPE : delivery->config->record.level;
    delivery->decoding = decoding_start(delivery->message, level, fault);
}

/* Before the lock is taken: a message that takes long holds up nobody. False: there is trouble, and it is reported. */
static bool wait_for_decoding(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    decoding_result(delivery->decoding);
    const char *fault = decoding_fault(delivery->decoding);
    if (decoding_cut_off(delivery->decoding)) {
        report_rest(work, OUTCOME_TROUBLE, fault);
        return false;
    }
    if (fault != NULL)
        log_warning("%s: message-id=<%s>: recorded only in part: %s",
                    delivery->queue_id != NULL ? delivery->queue_id : "NOQUEUE",
                    work->message_id != NULL ? work->message_id : "", fault);
    return true;
}

/* The whole story. Each step's failure is reported where it is met, and leaves nothing half done that the next
 * delivery of this message would not find out about from the ledger. */
static void deliver(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct fault fault = {.text = ""};
    int64_t since = base_now_ms();
    enum outcome outcome;
    if (!copies_collect(work))
        return;
    if (!server_trusted(work, &outcome, &fault)) {
        report_rest(work, outcome, fault.text);
        return;
    }
    if (!wait_for_decoding(work))
        return;
    enum ledger_result locked = ledger_lock(delivery->ledger, &work->claim, &fault);
    if (locked != LEDGER_OK) {
        report_ledger(work, locked, &fault);
        return;
    }
    size_t wanted = copies_decide(work);
    if (delivery->dry_run) {
        preview_report(work);
        ledger_rollback(delivery->ledger);
        return;
    }
    struct ledger_copy *sent = work->sent != NULL && work->sent->wanted ? work->sent : NULL;
    if (wanted == 0) {
        record_answers(work);
    } else {
        claim(work);
        bool held = hold(work);
        delivery->lock_ms = lap(&since);
        if (!held)
            return;
        bool inboxes = wanted > (sent != NULL);
        if (inboxes)
            held = deliver_inboxes(work, sent);
        if (sent != NULL)
            deliver_sent(work, sent, held, !inboxes);
    }
    if (work->sent_waits)
        report_sent(work, OUTCOME_HELD, "its last attempt may still be under way");
}

void delivery_run(struct delivery *delivery)
{
    struct delivery_work work = {.delivery = delivery};
    struct fault fault;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        memset(&delivery->recipients[i].route, 0, sizeof(struct route));
        memset(&delivery->recipients[i].report, 0, sizeof(struct report));
        delivery->recipients[i].copy = COPIES_NO_COPY;
        delivery->recipients[i].uid = 0;
    }
    work.whole = delivery->whole;
    work.claim.received_at = delivery->received_at != 0 ? delivery->received_at : (int64_t)time(NULL);
    bool ready = deadline_arm(delivery->config->delivery.deadline, &fault);
    if (ready && delivery->decoding == NULL)
        delivery_begin(delivery, &fault);
    if (ready && delivery->decoding != NULL) {
        deliver(&work);
    } else {
        for (size_t i = 0; i < delivery->recipient_count; i++)
            report_set(&delivery->recipients[i].report, OUTCOME_TROUBLE, "%s", fault.text);
    }
    copies_clear(&work);
}

void delivery_clear(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->recipient_count; i++)
        route_clear(&delivery->recipients[i].route);
    decoding_free(&delivery->decoding);
}

void delivery_log(const struct delivery *delivery)
{
    const struct message *message = delivery->message;
    /* so that a long value cuts none but the text off the line */
    char id[512], to[384], account[320], mailbox[320], queue_id[128], text[2048];
    log_escape_field(message->message_id != NULL ? message->message_id : "", id, sizeof(id));
    log_escape_field(delivery->queue_id != NULL ? delivery->queue_id : "NOQUEUE", queue_id, sizeof(queue_id));
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        const struct delivery_recipient *recipient = &delivery->recipients[i];
        const struct outcome_row *row = outcome_row(recipient->report.outcome);
        const struct route *route = &recipient->route;
        log_info("%s: message-id=<%s>, to=<%s>, account=%s, mailbox=%s, uid=%u, size=%zu, delay=%.3f,"
                 " delays=%.3f/%.3f/%.3f/%.3f, dsn=%s, status=%s (%s)",
                 queue_id, id, log_escape_field(recipient->address, to, sizeof(to)),
                 log_escape_field(route->account != NULL ? route->account : "", account, sizeof(account)),
                 log_escape_field(route->inbox != NULL ? route->inbox : "", mailbox, sizeof(mailbox)), recipient->uid,
                 message->size, (double)(base_now_ms() - delivery->started_ms) / 1000, (double)delivery->read_ms / 1000,
                 (double)delivery->lock_ms / 1000, (double)delivery->imap_ms / 1000,
                 (double)delivery->settle_ms / 1000, row->dsn, row->status,
                 log_escape_text(recipient->report.text, text, sizeof(text)));
    }
}
