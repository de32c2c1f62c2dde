/* SPDX-License-Identifier: ISC
 *
 * Searches and appends in the mailbox that takes the place of another. */
#include "delivery/fallback.h"

#include <string.h>

#include "base/alias.h"

bool fallback_search(struct delivery_work *work, size_t place, bool *doubt, struct made *made)
{
    const struct plan_target *plan = &work->plan->targets[place];
    bool perhaps = *doubt && work->targets.fallbacks[place] != NULL;
    *doubt = perhaps && plan->beside;
    if (!perhaps || plan->beside)
        return true;
    work->ahead[place].fallback = work->targets.fallbacks[place];
    enum search_result result = append_search(work, place, true, made);
    work->ahead[place].fallback = NULL;
    return result == SEARCH_ABSENT;
}

bool fallback_awaits(const struct delivery_work *work, size_t place, const char *mailbox, const struct made *made)
{
    const struct ledger_target *list = work->targets.list;
    bool awaits = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        awaits |= i != place && (made[i].state == COPY_APPENDING || made[i].doubt) &&
                  strcmp(list[i].account, list[place].account) == 0 && alias_possible(append_mailbox(work, i), mailbox);
    return awaits;
}

/* Of another delivery (plan.c), or of this one. */
static bool is_fenced(const struct delivery_work *work, size_t place, const char *fallback, const struct made *made)
{
    const struct plan_target *plan = &work->plan->targets[place];
    return plan->fenced || (plan->beside && fallback_awaits(work, place, fallback, made));
}

void fallback_append(struct delivery_work *work, size_t place, struct made *made)
{
    const char *fallback = work->targets.fallbacks[place];
    struct made *it = &made[place];
    if (!it->never || fallback == NULL || !append_in_time(work->delivery->config))
        return;
    struct report why = it->report;
    if (is_fenced(work, place, fallback, made)) {
        report_set(&it->report, OUTCOME_BUSY,
                   "another copy for %s may be on its way to %s (which is to be used, since %s)",
                   work->targets.list[place].account, fallback, why.text);
        return;
    }
    work->ahead[place].fallback = fallback; /* for good: whatever else becomes of the copy does so there */
    bool search = it->doubt || work->plan->targets[place].beside;
    if (!search || append_search(work, place, it->doubt, it) == SEARCH_ABSENT)
        *it = append_now(work, place, false);
    char *text OD_CLEANUP(base_free) = base_strdup(it->report.text);
    report_set(&it->report, it->report.outcome, "%s (instead of %s: %s)", text, work->targets.list[place].mailbox,
               why.text);
}
