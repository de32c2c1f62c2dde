/* SPDX-License-Identifier: ISC
 *
 * Who gets a Sent copy, and what happens if it cannot be made: it is put off, or given up. */
#include "delivery/sent.h"

#include <string.h>

#include "base/log.h"
#include "delivery/answers.h"
#include "delivery/append.h"
#include "delivery/quarantine.h"
#include "delivery/received.h"

static bool local_domain(const struct delivery *delivery, const struct route *from)
{
    if (delivery->config->route.account_query[0] != '\0')
        return true;
    for (size_t i = 0; i < delivery->recipient_count; i++)
        if (delivery->recipients[i].route.domain != NULL &&
            strcmp(delivery->recipients[i].route.domain, from->domain) == 0)
            return true;
    return false;
}

/* Who is logged in. If this or From is not an address, a stranger wrote it, and it is no error of ours. */
struct login {
    char *text; /* NULL: not needed */
    struct address address;
};

static void login_clear(struct login *login)
{
    base_free(&login->text);
    address_clear(&login->address);
}

static bool find_login(const struct delivery *delivery, struct login *ret)
{
    struct fault ignored;
    ret->text = delivery->sasl_user != NULL ? base_strdup(delivery->sasl_user)
                                            : received_login(delivery->message, delivery->queue_id);
    return ret->text != NULL && address_parse(ret->text, &ret->address, &ignored);
}

static bool find_from(const struct delivery *delivery, struct address *ret)
{
    struct fault ignored;
    const char *text = decoding_result(delivery->decoding)->from;
    if (text == NULL && decoding_fault(delivery->decoding) != NULL && !decoding_cut_off(delivery->decoding))
        log_warning("%s: no Sent copy: the sender is unknown: %s",
                    delivery->queue_id != NULL ? delivery->queue_id : "NOQUEUE", decoding_fault(delivery->decoding));
    return text != NULL && address_parse(text, ret, &ignored);
}

static enum route_result is_due(const struct delivery *delivery, const struct login *login, const struct route *from,
                                struct fault *fault)
{
    if (login->text == NULL)
        return local_domain(delivery, from) ? ROUTE_OK : ROUTE_NONE;
    if (strcmp(login->text, from->account) == 0)
        return ROUTE_OK;
    return route_leads_to(delivery->config, delivery->ledger, &login->address, from->account, fault);
}

enum route_result sent_route(const struct delivery *delivery, struct route *ret, struct fault *fault)
{
    enum route_sent_copy mode = delivery->config->route.sent_copy;
    struct login login OD_CLEANUP(login_clear) = {.text = NULL};
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    struct route from OD_CLEANUP(route_clear) = {.account = NULL};
    if (mode == SENT_COPY_OFF || delivery->only_login != NULL)
        return ROUTE_NONE;
    if (mode == SENT_COPY_AUTHENTICATED && !find_login(delivery, &login))
        return ROUTE_NONE;
    if (!find_from(delivery, &address))
        return ROUTE_NONE;
    enum route_result result = route_find(delivery->config, delivery->ledger, &address, &from, fault);
    if (result == ROUTE_OK)
        result = is_due(delivery, &login, &from, fault);
    if (result == ROUTE_OK) {
        *ret = from;
        memset(&from, 0, sizeof(from));
    }
    return result;
}

/* For the log. made: the result of a try; NULL: there was none, or its result could not be recorded. */
static void note(struct delivery_work *work, const struct made *made, enum outcome outcome, const char *text)
{
    struct delivery_sent *sent = &work->delivery->sent;
    if (sent->account == NULL) {
        sent->account = base_strdup(work->targets.list[work->plan->sent].account);
        sent->mailbox = base_strdup(work->targets.list[work->plan->sent].mailbox);
    }
    sent->uid = made != NULL ? made->uid : 0;
    sent->failed = made != NULL && made->state == COPY_FAILED;
    report_set(&sent->report, outcome, "Sent copy%s: %s", sent->failed ? " given up" : "", text);
}

void sent_report(struct delivery_work *work, enum outcome outcome, const char *text)
{
    size_t who = answers_for_sent(work);
    note(work, NULL, outcome, text);
    if (who == LEDGER_OTHER)
        return;
    struct report *report = &work->delivery->recipients[who].report;
    if (outcome_row(report->outcome)->exit_status == 0)
        report_set(report, outcome, "Sent copy of %s: %s", work->targets.sender.account, text);
}

bool sent_is_due(const struct delivery_work *work)
{
    return work->plan->sent != LEDGER_NO_TARGET && plan_is_made(&work->plan->targets[work->plan->sent]);
}

/* If the Sent copy cannot be made for longer than sent_retry, it is given up: it never bounces the message. */
static void give_up_sent(const struct delivery_work *work, struct made *made)
{
    const struct ledger_found_copy *found = &work->found->copies[work->plan->sent];
    bool permanent = outcome_row(made->report.outcome)->final;
    bool too_long = found->state != COPY_STORED && found->first_age_ms >= work->delivery->config->delivery.sent_retry;
    if (made->state == COPY_STORED || (!permanent && !too_long))
        return;
    made->state = COPY_FAILED;
}

static void settle_sent(struct delivery_work *work, const struct made *made)
{
    struct fault fault;
    bool next, taken;
    const struct ledger_made settled = append_settled(work->plan->sent, made);
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
        sent_report(work, OUTCOME_BUSY, "another delivery has taken over");
        break;
    case LEDGER_TROUBLE:
        sent_report(work, OUTCOME_DATABASE, fault.text);
        break;
    }
}

static void put_off(struct delivery_work *work, const char *text)
{
    sent_report(work, OUTCOME_BUSY, text);
    struct ledger_answers answers OD_CLEANUP(answers_clear) = answers_record(work);
    ledger_abandon(work->delivery->ledger, work->claim, answers);
}

static void append_and_settle(struct delivery_work *work)
{
    struct made made = append_copy(work, work->plan->sent);
    quarantine_append(work, work->plan->sent, &made);
    give_up_sent(work, &made);
    work->sent_done = made.state == COPY_STORED || made.state == COPY_FAILED;
    if (!work->sent_done)
        sent_report(work, made.report.outcome, made.report.text);
    note(work, &made, made.report.outcome, made.report.text);
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
    else if (!first && !append_in_time(work->delivery->config))
        put_off(work, "no time was left for it (delivery.deadline)");
    else
        append_and_settle(work);
}
