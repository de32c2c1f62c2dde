/* SPDX-License-Identifier: ISC */
#include "delivery/plan.h"

#include <string.h>

#include "base/alias.h"

static const char *const texts[] = {
    [WHY_NEW_MESSAGE] = "a new message",
    [WHY_NEW_MAILBOX] = "a new mailbox for a known message",
    [WHY_PENDING] = "recorded, but not stored yet",
    [WHY_DOUBT] = "recorded, perhaps stored: the mailbox is searched first",
    [WHY_CUT_OFF] = "its last attempt was cut off: the mailbox is searched first",
    [WHY_REFUSED] = "refused before",
    [WHY_STORED] = "stored already",
    [WHY_VERIFIED] = "stored: the mailbox is searched for it",
    [WHY_FORCED] = "stored, but forced",
    [WHY_UNDER_WAY] = "being delivered elsewhere, or was when its delivery died",
    [WHY_VARIANT] = "another message with this Message-ID has it",
    [WHY_NOBODY] = "no recipient of this delivery goes on",
};

const char *plan_why_text(enum plan_why why)
{
    return texts[why];
}

static enum plan_why find_why(const struct ledger_found *found, const struct plan_request *request, size_t target)
{
    const struct ledger_found_copy *copy = &found->copies[target];
    bool sent = request->targets[target].role == COPY_SENT; /* never made twice */
    if (request->left != NULL && request->left[target])
        return WHY_STORED;
    switch (copy->state) {
    case COPY_NONE:
        return found->known ? WHY_NEW_MAILBOX : WHY_NEW_MESSAGE;
    case COPY_PENDING:
        return copy->doubt ? WHY_DOUBT : WHY_PENDING;
    case COPY_APPENDING:
        return ledger_in_hold_off(copy->attempt_age_ms, request->hold_off) ? WHY_UNDER_WAY : WHY_CUT_OFF;
    case COPY_STORED:
        return request->again == AGAIN_NO      ? WHY_STORED
               : request->again != AGAIN_FORCE ? WHY_VERIFIED
               : sent                          ? WHY_STORED
                                               : WHY_FORCED;
    case COPY_FAILED:
        break;
    }
    return WHY_REFUSED;
}

/* After its hold-off, `appending` means in doubt. */
static void append_or_search(const struct plan_request *request, const struct ledger_found_copy *copy,
                             enum copy_role role, struct plan_target *target)
{
    bool by_id = role == COPY_SENT && request->has_id;
    target->doubt = copy->doubt || target->why == WHY_CUT_OFF || target->why == WHY_VERIFIED;
    target->action = target->doubt || by_id || request->search ? PLAN_SEARCH : PLAN_APPEND;
}

/* Returns true if the account has, or gets, a sibling copy. alias: only in what may be the same mailbox by another
 * name. */
static bool has_other(const struct plan_request *request, const struct ledger_found *found, size_t target, bool alias)
{
    const struct ledger_target *it = &request->targets[target];
    bool other = alias ? found->copies[target].alias : found->copies[target].beside;
    for (size_t i = 0; i < request->target_count; i++)
        other |= i != target && request->targets[i].role == COPY_INBOX &&
                 strcmp(request->targets[i].account, it->account) == 0 &&
                 (!alias || alias_possible(request->targets[i].mailbox, it->mailbox));
    return other;
}

static bool is_fresh(const struct plan_request *request, const struct ledger_found_copy *copy)
{
    return copy->beside_age_ms > 0 && ledger_in_hold_off(copy->beside_age_ms, request->hold_off);
}

/* A copy for a folder that cannot be created may be in the inbox, which is searched before it gets its own copy, unless
 * forced. While the sibling may still arrive there, perhaps by a delivery that lost its lock, the copy is deferred. A
 * folder's copy checks that only in fallback_append(). Names that may be of one mailbox follow the same rules. */
static void plan_beside(const struct plan_request *request, const struct ledger_found *found, size_t target,
                        struct plan_target *it)
{
    if (it->why == WHY_FORCED)
        return;
    it->alias = has_other(request, found, target, true);
    it->beside = it->alias || (request->fallbacks != NULL && has_other(request, found, target, false));
    it->fenced = it->beside && is_fresh(request, &found->copies[target]);
    bool only_otherwise = !it->alias && it->beside && request->fallbacks[target] != NULL;
    if (!it->beside || only_otherwise || !plan_is_made(it))
        return;
    if (it->fenced) {
        it->why = WHY_UNDER_WAY;
        it->action = PLAN_BUSY;
    } else {
        it->action = PLAN_SEARCH;
    }
}

static void plan_inbox(const struct plan_request *request, const struct ledger_found_copy *copy,
                       struct plan_target *target)
{
    if (target->why == WHY_UNDER_WAY)
        target->action = PLAN_BUSY;
    else if (target->why == WHY_STORED)
        target->action = PLAN_DUPLICATE;
    else
        append_or_search(request, copy, COPY_INBOX, target);
}

/* The owner is the first recipient that goes on. A copy claimed by another delivery within the hold-off is skipped:
 * Postfix retries its owner. If that is our recipient, it must be retried; if it is finished, one of ours replaces it.
 *
 * Two variants may be in flight if a lease expired before its claim was committed: neither is skipped for the other. If
 * one copy stands for several stored variants, each is searched for by Message-ID: the first restores a lost copy, the
 * others find it. */
static void plan_sent(const struct plan_request *request, const struct ledger_found_copy *copy, struct plan *plan)
{
    struct plan_target *target = &plan->targets[plan->sent];
    target->action = PLAN_ELSEWHERE;
    if (plan->sent_owner == LEDGER_OTHER) {
        target->why = WHY_NOBODY;
    } else if (target->why == WHY_STORED) {
        target->action = PLAN_DUPLICATE;
    } else if (target->why == WHY_REFUSED) {
        target->action = PLAN_GIVEN_UP;
    } else if (target->why == WHY_UNDER_WAY) {
        target->action = PLAN_BUSY;
        plan->sent_waits = copy->owner != LEDGER_OTHER || copy->owner_finished;
        if (copy->owner != LEDGER_OTHER && !copy->owner_finished)
            plan->sent_owner = copy->owner;
    } else if (copy->elsewhere && (target->why != WHY_VERIFIED || copy->elsewhere_under_way)) {
        target->why = WHY_VARIANT;
    } else if (target->fenced || copy->variant_waits) {
        target->why = WHY_UNDER_WAY;
        target->action = PLAN_BUSY;
        plan->sent_waits = true;
    } else {
        append_or_search(request, copy, COPY_SENT, target);
        if (target->alias)
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

struct plan *plan_make(const struct ledger_found *found, const struct plan_request *request)
{
    struct plan *plan = base_alloc(sizeof(*plan) + request->target_count * sizeof(plan->targets[0]));
    plan->sent = LEDGER_NO_TARGET;
    for (size_t i = 0; i < request->target_count; i++) {
        plan->targets[i].doubt = found->copies[i].doubt;
        plan->targets[i].why = find_why(found, request, i);
        if (request->targets[i].role == COPY_SENT) {
            plan->sent = i;
            plan->targets[i].alias = has_other(request, found, i, true);
            plan->targets[i].fenced = plan->targets[i].alias && is_fresh(request, &found->copies[i]);
            continue;
        }
        plan_inbox(request, &found->copies[i], &plan->targets[i]);
        plan_beside(request, found, i, &plan->targets[i]);
    }
    plan->sent_owner = first_that_goes_on(request, plan);
    if (plan->sent != LEDGER_NO_TARGET)
        plan_sent(request, &found->copies[plan->sent], plan);
    return plan;
}
