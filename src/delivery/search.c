/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include "delivery/presence.h"

/* An earlier attempt, or a sibling copy, may have left a notice. */
static bool may_be_explained(const struct delivery_work *work, size_t target)
{
    const struct config *config = target_server(work, target);
    const struct plan_target *plan = &work->plan->targets[target];
    bool possible = plan->doubt || plan->sibling || config->imap.search == IMAP_SEARCH_ALWAYS;
    return config->delivery.refused == REFUSED_QUARANTINE && possible;
}

/* In doubt the search must not depend on an earlier view. Verification may: another search precedes the APPEND. */
static enum sessions_age session_age(const struct delivery_work *work, size_t target)
{
    return work->plan->targets[target].doubt && !work->read_only ? SESSIONS_NEW : SESSIONS_REUSED;
}

static struct presence_query query_of(const struct delivery_work *work, const struct append_item *item)
{
    const struct plan_target *plan = &work->plan->targets[item->target];
    bool sent = work->targets.list[item->target].role == COPY_SENT;
    bool doubt = plan->doubt || plan->sibling || plan->same_mailbox; /* our copy may be there */
    return (struct presence_query){
        .sessions = work->request->sessions,
        .age = session_age(work, item->target),
        .server = target_server(work, item->target),
        .account = work->targets.list[item->target].account,
        .mailbox = append_item_mailbox(work, item),
        .message = work->request->message,
        .received_at = work->found->received_at,
        .by_id = sent || work->request->id_only,
        .newest = sent ? PRESENCE_NEWEST : 0,
        .newest_only = sent && !doubt, /* otherwise it may be older */
        .doubt = doubt,
        .notice = may_be_explained(work, item->target),
        .retry_ms = append_time_ms(work, item->target),
    };
}

void search_open(struct delivery_work *work, size_t target)
{
    struct append_op *it = &work->appends[target];
    const char *account = work->targets.list[target].account;
    it->unreachable = sessions_acquire(work->request->sessions, target_server(work, target), account,
                                       session_age(work, target), 0, &it->reused, &it->error) == NULL;
    if (!it->unreachable)
        sessions_release(work->request->sessions, target_server(work, target), account);
}

static void report_found(const struct delivery_work *work, const struct append_item *item,
                         const struct presence_place *place, struct copy_result *result)
{
    bool known = work->found->copies[item->target].state == COPY_STORED;
    enum outcome stored = place->notice ? OUTCOME_QUARANTINED : OUTCOME_STORED;
    result->state = COPY_STORED;
    result->uidvalidity = place->uidvalidity;
    result->uid = place->uid;
    result->quarantine = place->notice ? QUARANTINE_STORED : QUARANTINE_NONE;
    result->fallback = item->fallback;
    report_set(&result->report, known ? OUTCOME_DUPLICATE : stored, "%s uid=%u mailbox=%s (found there%s)",
               known ? "duplicate" : "stored", result->uid, append_item_mailbox(work, item),
               place->notice ? ", quarantined" : "");
}

enum search_result search_copy(struct delivery_work *work, const struct append_item *item, struct copy_result *result)
{
    const struct append_op *it = &work->appends[item->target];
    const struct presence_query query = query_of(work, item);
    struct presence_place place = {.uid = 0};
    struct copy_result found = {.state = COPY_PENDING};
    struct error error = it->error;
    enum search_result status = it->unreachable ? SEARCH_UNKNOWN : presence_search(&query, &place, &error);
    if (status == SEARCH_PRESENT)
        report_found(work, item, &place, &found);
    else if (status == SEARCH_UNKNOWN) /* must not count as absent */
        copy_result_of_append(work, item, APPEND_NOT_SENT, &error, &found);
    if (status != SEARCH_MISSING)
        *result = found;
    return status;
}

enum search_result search_explain_missing(struct delivery_work *work, size_t target, struct error *error)
{
    const struct append_item item = {.target = target};
    const struct presence_query query = query_of(work, &item);
    const struct ledger_copy_state *found = &work->found->copies[target];
    const struct presence_place recorded = {.uidvalidity = (uint32_t)found->uidvalidity, .uid = (uint32_t)found->uid};
    return presence_explain_missing(&query, &recorded, error);
}
