/* SPDX-License-Identifier: ISC */
#include "delivery/plan.h"

#include <string.h>

static const char *const texts[] = {
    [REASON_NEW_MESSAGE] = "a new message",
    [REASON_NEW_MAILBOX] = "a new mailbox for a known message",
    [REASON_PENDING] = "recorded, but not stored yet",
    [REASON_DOUBT] = "recorded, possibly stored: the mailbox is searched first",
    [REASON_CUT_OFF] = "its last attempt was cut off: the mailbox is searched first",
    [REASON_REFUSED] = "refused before",
    [REASON_STORED] = "stored already",
    [REASON_VERIFIED] = "stored: the mailbox is searched for it",
    [REASON_FORCED] = "stored, but forced",
    [REASON_UNDER_WAY] = "being delivered elsewhere, or was when its delivery died",
    [REASON_VARIANT] = "another message with this Message-ID has it",
    [REASON_NO_RECIPIENT] = "all recipients finished or deferred",
};

const char *plan_reason_text(enum plan_reason reason)
{
    return texts[reason];
}

static enum plan_reason find_reason(const struct ledger_state *found, const struct plan_request *request, size_t target)
{
    const struct ledger_copy_state *copy = &found->copies[target];
    bool sent = request->targets[target].role == COPY_SENT; /* never made twice */
    if (request->skipped != NULL && request->skipped[target])
        return REASON_STORED;
    switch (copy->state) {
    case COPY_NONE:
        return found->known ? REASON_NEW_MAILBOX : REASON_NEW_MESSAGE;
    case COPY_PENDING:
        return copy->doubt ? REASON_DOUBT : REASON_PENDING;
    case COPY_APPENDING:
        return ledger_in_hold_off(copy->claim_age_ms, request->hold_off) ? REASON_UNDER_WAY : REASON_CUT_OFF;
    case COPY_STORED:
        return request->redeliver == REDELIVER_NO      ? REASON_STORED
               : request->redeliver != REDELIVER_FORCE ? REASON_VERIFIED
               : sent                                  ? REASON_STORED
                                                       : REASON_FORCED;
    case COPY_FAILED:
        break;
    }
    return REASON_REFUSED;
}

/* After its hold-off, `appending` means in doubt. */
static void append_or_search(const struct plan_request *request, const struct ledger_copy_state *copy,
                             enum copy_role role, struct plan_target *target)
{
    bool by_id = role == COPY_SENT && request->has_id;
    target->doubt = copy->doubt || target->reason == REASON_CUT_OFF || target->reason == REASON_VERIFIED;
    target->action = target->doubt || by_id || request->search ? PLAN_SEARCH : PLAN_APPEND;
}

/* Returns true if the account has, or gets, a sibling copy. same_mailbox: only in what may be the same mailbox by another
 * name. */
static bool has_other(const struct plan_request *request, const struct ledger_state *found, size_t target,
                      bool same_mailbox)
{
    const struct ledger_target *it = &request->targets[target];
    bool other = same_mailbox ? found->copies[target].same_mailbox : found->copies[target].sibling;
    for (size_t i = 0; i < request->target_count; i++)
        other |= i != target && request->targets[i].role == COPY_INBOX &&
                 strcmp(request->targets[i].account, it->account) == 0 &&
                 (!same_mailbox || same_mailbox_possible(request->targets[i].mailbox, it->mailbox));
    return other;
}

static bool is_fresh(const struct plan_request *request, const struct ledger_copy_state *copy)
{
    return copy->sibling_age_ms > 0 && ledger_in_hold_off(copy->sibling_age_ms, request->hold_off);
}

/* A copy for a folder that cannot be created may be in the inbox, which is searched before it gets its own copy, unless
 * forced. While the sibling may still arrive there, perhaps by a delivery that lost its lock, the copy is deferred. A
 * folder's copy checks that only in fallback_append(). Names that may be of one mailbox follow the same rules. */
static void plan_sibling(const struct plan_request *request, const struct ledger_state *found, size_t target,
                         struct plan_target *it)
{
    if (it->reason == REASON_FORCED)
        return;
    it->same_mailbox = has_other(request, found, target, true);
    it->sibling = it->same_mailbox || (request->fallbacks != NULL && has_other(request, found, target, false));
    it->sibling_in_flight = it->sibling && is_fresh(request, &found->copies[target]);
    bool only_otherwise = !it->same_mailbox && it->sibling && request->fallbacks[target] != NULL;
    if (!it->sibling || only_otherwise || !plan_makes_copy(it))
        return;
    if (it->sibling_in_flight) {
        it->reason = REASON_UNDER_WAY;
        it->action = PLAN_BUSY;
    } else {
        it->action = PLAN_SEARCH;
    }
}

static void plan_inbox(const struct plan_request *request, const struct ledger_copy_state *copy,
                       struct plan_target *target)
{
    if (target->reason == REASON_UNDER_WAY)
        target->action = PLAN_BUSY;
    else if (target->reason == REASON_STORED)
        target->action = PLAN_DUPLICATE;
    else
        append_or_search(request, copy, COPY_INBOX, target);
}

/* The owner is the first recipient that goes on. A copy claimed by another delivery within the hold-off is left alone:
 * Postfix retries its owner. If that is our recipient, it must be retried; if it is finished, one of ours replaces it.
 *
 * While a variant is in flight, ours waits: that delivery may have ended, and left its copy to us. Of several variants that
 * share a stored copy, each is searched for by Message-ID: the first restores a lost copy, the others find it. */
static void plan_sent(const struct plan_request *request, const struct ledger_copy_state *copy, struct plan *plan)
{
    struct plan_target *target = &plan->targets[plan->sent];
    target->action = PLAN_VARIANT_HAS_COPY;
    if (plan->sent_owner == LEDGER_OTHER) {
        target->reason = REASON_NO_RECIPIENT;
    } else if (target->reason == REASON_STORED) {
        target->action = PLAN_DUPLICATE;
    } else if (target->reason == REASON_REFUSED) {
        target->action = PLAN_SENT_FAILED;
    } else if (target->reason == REASON_UNDER_WAY) {
        target->action = PLAN_BUSY;
        plan->sent_waits = copy->owner != LEDGER_OTHER || copy->owner_finished;
        if (copy->owner != LEDGER_OTHER && !copy->owner_finished)
            plan->sent_owner = copy->owner;
    } else if (copy->variant_has_copy && target->reason != REASON_VERIFIED) {
        target->reason = REASON_VARIANT;
    } else if (target->sibling_in_flight || copy->variant_in_flight) {
        target->reason = REASON_UNDER_WAY;
        target->action = PLAN_BUSY;
        plan->sent_waits = true;
    } else {
        append_or_search(request, copy, COPY_SENT, target);
        if (target->same_mailbox)
            target->action = PLAN_SEARCH;
    }
}

static size_t first_that_goes_on(const struct plan_request *request, const struct plan *plan)
{
    for (size_t i = 0; i < request->recipient_count; i++)
        if (plan_goes_on(plan, request->recipients[i]))
            return i;
    return LEDGER_OTHER;
}

struct plan *plan_make(const struct ledger_state *found, const struct plan_request *request)
{
    struct plan *plan = base_alloc(sizeof(*plan) + request->target_count * sizeof(plan->targets[0]));
    plan->sent = LEDGER_NO_TARGET;
    for (size_t i = 0; i < request->target_count; i++) {
        plan->targets[i].doubt = found->copies[i].doubt;
        plan->targets[i].reason = find_reason(found, request, i);
        if (request->targets[i].role == COPY_SENT) {
            plan->sent = i;
            plan->targets[i].same_mailbox = has_other(request, found, i, true);
            plan->targets[i].sibling_in_flight = plan->targets[i].same_mailbox && is_fresh(request, &found->copies[i]);
            continue;
        }
        plan_inbox(request, &found->copies[i], &plan->targets[i]);
        plan_sibling(request, found, i, &plan->targets[i]);
    }
    plan->sent_owner = first_that_goes_on(request, plan);
    if (plan->sent != LEDGER_NO_TARGET)
        plan_sent(request, &found->copies[plan->sent], plan);
    return plan;
}
