/* SPDX-License-Identifier: ISC
 *
 * Searches and appends in the mailbox that takes the place of another. */
#include "delivery/fallback.h"

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

void fallback_append(struct delivery_work *work, size_t place, struct made *made)
{
    const char *fallback = work->targets.fallbacks[place];
    if (!made->never || fallback == NULL || !append_in_time(work->delivery->config))
        return;
    struct report why = made->report;
    if (work->plan->targets[place].fenced) {
        report_set(&made->report, OUTCOME_BUSY,
                   "another copy for %s may be on its way to %s (which is to be used, since %s)",
                   work->targets.list[place].account, fallback, why.text);
        return;
    }
    work->ahead[place].fallback = fallback; /* for good: whatever else becomes of the copy does so there */
    bool search = made->doubt || work->plan->targets[place].beside;
    if (!search || append_search(work, place, made->doubt, made) == SEARCH_ABSENT)
        *made = append_now(work, place, false);
    char *text OD_CLEANUP(base_free) = base_strdup(made->report.text);
    report_set(&made->report, made->report.outcome, "%s (instead of %s: %s)", text, work->targets.list[place].mailbox,
               why.text);
}
