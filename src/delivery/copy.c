/* SPDX-License-Identifier: ISC */
#include "delivery/copy.h"

#include "delivery/append.h"
#include "delivery/fallback.h"
#include "delivery/search.h"

void copy_make(struct delivery_work *work, size_t target)
{
    struct made made = {.state = COPY_PENDING};
    struct letter letter = letter_planned(work, target);
    if (work->plan->targets[target].action == PLAN_APPEND ||
        (search_copy(work, &letter, &made) == SEARCH_ABSENT && fallback_search(work, &letter, &made)))
        made = append_now(work, &letter);
    work->made[target] = made;
}
