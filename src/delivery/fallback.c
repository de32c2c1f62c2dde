/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

#include <string.h>

bool fallback_search(struct delivery_work *work, struct append_item *item, struct copy_result *result)
{
    const char *fallback = work->targets.fallbacks[item->target];
    bool has_fallback = item->doubt && fallback != NULL, sibling = work->plan->targets[item->target].sibling;
    item->doubt = has_fallback && sibling;
    if (!has_fallback || sibling)
        return true;
    const struct append_item there = {.target = item->target, .doubt = true, .fallback = fallback};
    return search_copy(work, &there, result) == SEARCH_MISSING;
}

bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox)
{
    const struct ledger_target *list = work->targets.list;
    const struct copy_result *result = work->results;
    bool awaits = false;
    for (size_t i = 0; i < work->targets.message.target_count; i++)
        awaits |= i != target && (result[i].state == COPY_APPENDING || result[i].doubt) &&
                  strcmp(list[i].account, list[target].account) == 0 &&
                  same_mailbox_possible(result[i].fallback != NULL ? result[i].fallback : list[i].mailbox, mailbox);
    return awaits;
}

static bool is_sibling_in_flight(const struct delivery_work *work, size_t target, const char *fallback)
{
    const struct plan_target *plan = &work->plan->targets[target];
    return plan->sibling_in_flight || (plan->sibling && fallback_awaits(work, target, fallback));
}

void fallback_append(struct delivery_work *work, size_t target)
{
    struct copy_result *it = &work->results[target];
    struct append_item item = {.target = target, .doubt = it->doubt, .fallback = work->targets.fallbacks[target]};
    if (!it->impossible || item.fallback == NULL || !append_fits_deadline(work, target))
        return;
    const struct report why = it->report;
    if (is_sibling_in_flight(work, target, item.fallback)) {
        report_set(&it->report, OUTCOME_BUSY,
                   "another copy for %s may be on its way to %s (which is to be used, since %s)",
                   work->targets.list[target].account, item.fallback, why.text);
        return;
    }
    bool search = it->doubt || work->plan->targets[target].sibling;
    if (!search || search_copy(work, &item, it) == SEARCH_MISSING) {
        item.doubt = false;
        *it = append_now(work, &item);
    }
    char *text OD_CLEANUP(base_free) = base_strdup(it->report.text);
    report_set(&it->report, it->report.outcome, "%s (instead of %s: %s)", text, work->targets.list[target].mailbox,
               why.text);
}
