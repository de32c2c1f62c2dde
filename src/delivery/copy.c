/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

void copy_make(struct delivery_work *work, size_t target)
{
    struct copy_result result = {.state = COPY_PENDING};
    struct append_item item = append_item_planned(work, target);
    if (work->plan->targets[target].action == PLAN_APPEND ||
        (search_copy(work, &item, &result) == SEARCH_MISSING && fallback_search(work, &item, &result)))
        result = append_now(work, &item);
    work->results[target] = result;
}
