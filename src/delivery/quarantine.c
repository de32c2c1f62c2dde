/* SPDX-License-Identifier: ISC
 *
 * The explanation of a copy: when it is due, its APPEND and its search. */
#include "delivery/quarantine.h"

#include <string.h>

#include "decode/explanation.h"
#include "message/message_comparison.h"

bool quarantine_is_time(const struct delivery_work *work, size_t place)
{
    const struct config *config = work->delivery->config;
    int64_t after = config->delivery.reject_after;
    if (work->targets.list[place].role == COPY_SENT && config->delivery.sent_retry < after)
        after = config->delivery.sent_retry;
    return work->found->copies[place].first_age_ms >= after;
}

/* To whom, and from whose postmaster. */
static void address_to(const struct delivery_work *work, size_t place, struct explanation *explanation)
{
    if (place == work->plan->sent) {
        explanation->to = work->targets.sender.address;
        explanation->domain = work->targets.sender.domain;
    } else {
        size_t recipient = targets_first_recipient(&work->targets, place);
        explanation->to = work->delivery->recipients[recipient].address;
        explanation->domain = work->delivery->recipients[recipient].route.domain;
    }
}

static struct message *explain(const struct delivery_work *work, size_t place, const char *answer, struct fault *fault)
{
    const struct delivery *delivery = work->delivery;
    char *id OD_CLEANUP(base_free) = explanation_id(delivery->config->lock.namespace, delivery->message);
    struct explanation explanation = {
        .message = delivery->message,
        .fields = place == work->plan->sent ? MESSAGE_NO_ENVELOPE : MESSAGE_ALL_FIELDS,
        .decoded = decoding_result(delivery->decoding),
        .id = id,
        .sender = delivery->sender,
        .answer = answer,
        .date = work->found->received_at,
    };
    address_to(work, place, &explanation);
    return explanation_make(&explanation, fault);
}

void quarantine_append(struct delivery_work *work, size_t place, struct made *made)
{
    struct fault fault;
    const struct config *config = work->delivery->config;
    if (made->quarantine != QUARANTINE_DUE || !append_in_time(config))
        return;
    struct report refusal = made->report;
    if (append_search(work, place, true, made) != SEARCH_ABSENT || !append_in_time(config))
        return;
    struct message *explanation OD_CLEANUP(message_free) = explain(work, place, refusal.text, &fault);
    if (explanation == NULL) {
        report_set(&made->report, OUTCOME_TROUBLE, "refused, and no explanation could be written: %s (%s)", fault.text,
                   refusal.text);
        return;
    }
    work->ahead[place].instead = explanation;
    *made = append_now(work, place, false);
    work->ahead[place].instead = NULL;
    char *text OD_CLEANUP(base_free) = base_strdup(made->report.text);
    if (made->state == COPY_STORED)
        report_set(&made->report, OUTCOME_QUARANTINED, "%s (quarantined: %s)", text, refusal.text);
    else
        report_set(&made->report, made->report.outcome, "explanation of a refused message: %s", text);
}

static void feed_candidate(void *context, const void *bytes, size_t size)
{
    explanation_comparison_feed(context, bytes, size);
}

static enum candidate end_candidate(void *context)
{
    return explanation_comparison_end(context) ? CANDIDATE_SAME : CANDIDATE_OTHER;
}

static bool is_searched(const struct delivery_work *work, size_t place)
{
    const struct config *config = work->delivery->config;
    const struct plan_target *plan = &work->plan->targets[place];
    bool perhaps = plan->doubt || plan->beside || config->imap.search == IMAP_SEARCH_ALWAYS;
    return config->delivery.rejected == REJECTED_QUARANTINE && perhaps;
}

enum search_result quarantine_search(struct mailbox *mailbox, const struct delivery_work *work, size_t place,
                                     struct made *made, struct fault *fault)
{
    const struct delivery *delivery = work->delivery;
    const struct config *config = delivery->config;
    if (!is_searched(work, place))
        return SEARCH_ABSENT;
    char *id OD_CLEANUP(base_free) = explanation_id(config->lock.namespace, delivery->message);
    struct explanation_comparison *comparison OD_CLEANUP(explanation_comparison_free) =
        explanation_comparison_new(delivery->message, (const char *const *)config->identity.ignore);
    const struct message named = {.message_id = id, .message_id_length = strlen(id)};
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = message_comparison_new_id(&named);
    const struct search search = {
        .mailbox = append_mailbox(work, place),
        .message_id = id,
        .internal_date = work->found->received_at,
        .smallest = 1,
        .whole = {.feed = feed_candidate, .end = end_candidate, .context = comparison},
        .ids = append_reader(ids),
    };
    enum search_result result = mailbox_search(mailbox, &search, &made->uidvalidity, &made->uid, fault);
    if (result == SEARCH_FOUND)
        made->quarantine = QUARANTINE_STORED;
    return result;
}
