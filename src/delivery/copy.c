/* SPDX-License-Identifier: ISC
 *
 * In the target's mailbox, unless it is found in the one that takes its place. */
#include "delivery/copy.h"

#include <string.h>

#include "base/alias.h"
#include "delivery/append.h"
#include "delivery/search.h"

/* After a search that did not find the copy in its folder. If it is in doubt, an earlier attempt may have stored it in the
 * inbox: searches there. Not if the account has another copy, which would be taken for this one: then only fallback_append
 * can tell, after the folder was tried.
 *
 * True: to be appended; letter->doubt: whether it may be in the inbox. False: *made is the result. */
static bool fallback_search(struct delivery_work *work, struct letter *letter, struct made *made)
{
    const char *fallback = work->targets.fallbacks[letter->target];
    bool perhaps = letter->doubt && fallback != NULL, beside = work->plan->targets[letter->target].beside;
    letter->doubt = perhaps && beside;
    if (!perhaps || beside)
        return true;
    const struct letter there = {.target = letter->target, .doubt = true, .fallback = fallback};
    return search_copy(work, &there, made) == SEARCH_ABSENT;
}

void copy_make(struct delivery_work *work, size_t target)
{
    struct made made = {.state = COPY_PENDING};
    struct letter letter = letter_planned(work, target);
    if (work->plan->targets[target].action == PLAN_APPEND ||
        (search_copy(work, &letter, &made) == SEARCH_ABSENT && fallback_search(work, &letter, &made)))
        made = append_now(work, &letter);
    work->made[target] = made;
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

/* Of another delivery (plan.c), or of this one. */
static bool is_fenced(const struct delivery_work *work, size_t target, const char *fallback)
{
    const struct plan_target *plan = &work->plan->targets[target];
    return plan->fenced || (plan->beside && fallback_awaits(work, target, fallback));
}

void fallback_append(struct delivery_work *work, size_t target)
{
    struct made *it = &work->made[target];
    struct letter letter = {.target = target, .doubt = it->doubt, .fallback = work->targets.fallbacks[target]};
    if (!it->never || letter.fallback == NULL || !made_in_time(work->request->config))
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
