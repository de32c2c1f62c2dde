/* SPDX-License-Identifier: ISC */
#include "delivery/fallback.h"

#include <string.h>

#include "base/alias.h"
#include "delivery/append.h"
#include "delivery/search.h"

bool fallback_search(struct delivery_work *work, struct letter *letter, struct made *made)
{
    const char *fallback = work->targets.fallbacks[letter->target];
    bool perhaps = letter->doubt && fallback != NULL, beside = work->plan->targets[letter->target].beside;
    letter->doubt = perhaps && beside;
    if (!perhaps || beside)
        return true;
    const struct letter there = {.target = letter->target, .doubt = true, .fallback = fallback};
    return search_copy(work, &there, made) == SEARCH_ABSENT;
}

bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox)
{
    const struct ledger_target *list = work->targets.list;
    const struct made *made = work->made;
    bool awaits = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        awaits |= i != target && (made[i].state == COPY_APPENDING || made[i].doubt) &&
                  strcmp(list[i].account, list[target].account) == 0 &&
                  alias_possible(made[i].fallback != NULL ? made[i].fallback : list[i].mailbox, mailbox);
    return awaits;
}

static bool is_fenced(const struct delivery_work *work, size_t target, const char *fallback)
{
    const struct plan_target *plan = &work->plan->targets[target];
    return plan->fenced || (plan->beside && fallback_awaits(work, target, fallback));
}

void fallback_append(struct delivery_work *work, size_t target)
{
    struct made *it = &work->made[target];
    struct letter letter = {.target = target, .doubt = it->doubt, .fallback = work->targets.fallbacks[target]};
    if (!it->never || letter.fallback == NULL || !made_in_time(work, target))
        return;
    const struct report why = it->report;
    if (is_fenced(work, target, letter.fallback)) {
        report_set(&it->report, OUTCOME_BUSY,
                   "another copy for %s may be on its way to %s (which is to be used, since %s)",
                   work->targets.list[target].account, letter.fallback, why.text);
        return;
    }
    bool search = it->doubt || work->plan->targets[target].beside;
    if (!search || search_copy(work, &letter, it) == SEARCH_ABSENT) {
        letter.doubt = false;
        *it = append_now(work, &letter);
    }
    char *text OD_CLEANUP(base_free) = base_strdup(it->report.text);
    report_set(&it->report, it->report.outcome, "%s (instead of %s: %s)", text, work->targets.list[target].mailbox,
               why.text);
}
