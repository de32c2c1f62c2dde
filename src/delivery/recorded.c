/* SPDX-License-Identifier: ISC */
#include "delivery/delivery_internal.h"

static bool recipient_is_recorded(const struct delivery_work *work, size_t recipient)
{
    size_t target = work->targets.of_recipient[recipient];
    if (target == LEDGER_NO_TARGET || work->plan->targets[target].action != PLAN_DUPLICATE)
        return false;
    const struct ledger_copy_state *copy = &work->found->copies[target];
    return copy->owner == recipient && copy->recorded_today;
}

bool plan_is_recorded(const struct delivery_work *work)
{
    const struct plan *plan = work->plan;
    if (!work->request->skip_recorded || work->request->redeliver != REDELIVER_NO)
        return false;
    if (plan->sent != LEDGER_NO_TARGET && plan->targets[plan->sent].action != PLAN_DUPLICATE)
        return false;
    for (size_t i = 0; i < work->request->recipient_count; i++)
        if (!recipient_is_recorded(work, i))
            return false;
    return true;
}
