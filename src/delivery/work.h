/* SPDX-License-Identifier: ISC
 *
 * The state of a delivery. Later steps only refine a copy's result, or find the message incomplete. */
#ifndef ONCEDROP_WORK_H
#define ONCEDROP_WORK_H

#include "delivery/plan.h"
#include "delivery/targets.h"

struct delivery_work {
    const struct delivery_request *request;
    struct delivery *delivery;
    struct targets targets;
    char **refusals; /* per target: ledger_refusal_id(), or NULL */
    struct ledger_state *found;
    struct plan *plan;
    bool *skipped; /* per target: skipped by verification; or NULL */
    struct ledger_claim *claim;
    struct append_op *appends;
    struct copy_result *results;
    bool read_only; /* verification: reused sessions will do */
    bool complete;  /* the message is known to be complete */
};

/* An append item: what is stored for a target, and where. */
struct append_item {
    size_t target;
    bool doubt;                   /* an earlier attempt may have stored it there */
    const struct message *notice; /* in place of the message (quarantine.h), or NULL */
    const char *fallback;         /* in place of the target's mailbox (fallback.h), or NULL */
};

static inline struct append_item append_item_planned(const struct delivery_work *work, size_t target)
{
    return (struct append_item){.target = target, .doubt = work->plan->targets[target].doubt};
}

static inline const struct config *target_server(const struct delivery_work *work, size_t target)
{
    return work->targets.servers[target];
}

static inline const char *append_item_mailbox(const struct delivery_work *work, const struct append_item *item)
{
    return item->fallback != NULL ? item->fallback : work->targets.list[item->target].mailbox;
}

#endif
