/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include "decode/decode.h"

static void address_to(const struct delivery_work *work, size_t target, struct notice *notice)
{
    if (target == work->plan->sent) {
        notice->to = work->targets.sender.address;
        notice->domain = work->targets.sender.domain;
    } else {
        size_t recipient = targets_first_recipient(&work->targets, target);
        notice->to = work->request->recipients[recipient].address;
        notice->domain = work->delivery->replies[recipient].route.domain;
    }
}

static struct message *make_notice(const struct delivery_work *work, size_t target, const char *reply,
                                   struct error *error)
{
    const struct delivery_request *request = work->request;
    char *id OD_CLEANUP(base_free) = notice_id(request->config->lock.namespace, request->message);
    struct notice notice = {
        .message = request->message,
        .fields = target == work->plan->sent ? MESSAGE_NO_ENVELOPE : MESSAGE_ALL_FIELDS,
        .decoded = decoding_result(work->delivery->decoding),
        .id = id,
        .sender = request->sender,
        .reply = reply,
        .date = work->found->received_at,
    };
    address_to(work, target, &notice);
    return notice_make(&notice, error);
}

void quarantine_append(struct delivery_work *work, size_t target)
{
    struct copy_result *result = &work->results[target];
    struct error error;
    struct append_item item = {.target = target, .doubt = true, .fallback = result->fallback};
    if (result->quarantine != QUARANTINE_DUE || !append_fits_deadline(work, target))
        return;
    const struct report refusal = result->report;
    if (search_copy(work, &item, result) != SEARCH_MISSING || !append_fits_deadline(work, target))
        return;
    struct message *notice OD_CLEANUP(message_free) = make_notice(work, target, refusal.text, &error);
    if (notice == NULL) {
        report_set(&result->report, OUTCOME_TEMPFAIL, "refused, and no explanation could be written: %s (%s)",
                   error.text, refusal.text);
        return;
    }
    item.doubt = false;
    item.notice = notice;
    *result = append_now(work, &item);
    char *text OD_CLEANUP(base_free) = base_strdup(result->report.text);
    if (result->state == COPY_STORED)
        report_set(&result->report, OUTCOME_QUARANTINED, "%s (quarantined: %s)", text, refusal.text);
    else
        report_set(&result->report, result->report.outcome, "explanation of a refused message: %s", text);
}
