/* SPDX-License-Identifier: ISC */
#include "delivery/quarantine.h"

#include "decode/explanation.h"
#include "delivery/append.h"
#include "delivery/search.h"

static void address_to(const struct delivery_work *work, size_t target, struct explanation *explanation)
{
    if (target == work->plan->sent) {
        explanation->to = work->targets.sender.address;
        explanation->domain = work->targets.sender.domain;
    } else {
        size_t recipient = targets_first_recipient(&work->targets, target);
        explanation->to = work->request->recipients[recipient].address;
        explanation->domain = work->delivery->answers[recipient].route.domain;
    }
}

static struct message *make_explanation(const struct delivery_work *work, size_t target, const char *answer,
                                        struct fault *fault)
{
    const struct delivery_request *request = work->request;
    char *id OD_CLEANUP(base_free) = explanation_id(request->config->lock.namespace, request->message);
    struct explanation explanation = {
        .message = request->message,
        .fields = target == work->plan->sent ? MESSAGE_NO_ENVELOPE : MESSAGE_ALL_FIELDS,
        .decoded = decoding_result(work->delivery->decoding),
        .id = id,
        .sender = request->sender,
        .answer = answer,
        .date = work->found->received_at,
    };
    address_to(work, target, &explanation);
    return explanation_make(&explanation, fault);
}

void quarantine_append(struct delivery_work *work, size_t target)
{
    struct made *made = &work->made[target];
    struct fault fault;
    struct letter letter = {.target = target, .doubt = true, .fallback = made->fallback};
    if (made->quarantine != QUARANTINE_DUE || !made_in_time(work, target))
        return;
    const struct report refusal = made->report;
    if (search_copy(work, &letter, made) != SEARCH_ABSENT || !made_in_time(work, target))
        return;
    struct message *explanation OD_CLEANUP(message_free) = make_explanation(work, target, refusal.text, &fault);
    if (explanation == NULL) {
        report_set(&made->report, OUTCOME_TROUBLE, "refused, and no explanation could be written: %s (%s)", fault.text,
                   refusal.text);
        return;
    }
    letter.doubt = false;
    letter.explanation = explanation;
    *made = append_now(work, &letter);
    char *text OD_CLEANUP(base_free) = base_strdup(made->report.text);
    if (made->state == COPY_STORED)
        report_set(&made->report, OUTCOME_QUARANTINED, "%s (quarantined: %s)", text, refusal.text);
    else
        report_set(&made->report, made->report.outcome, "explanation of a refused message: %s", text);
}
