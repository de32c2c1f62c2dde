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
    struct ledger_found *found;
    struct plan *plan;
    bool *left; /* per target: skipped by verification; or NULL */
    struct ledger_claim *claim;
    struct appending *appends;
    struct made *made;
    bool looking; /* verification: reused sessions will do */
    bool whole;   /* the message is known to be complete */
};

/* An append item: what is stored for a target, and where. */
struct letter {
    size_t target;
    bool doubt;                        /* an earlier attempt may have stored it there */
    const struct message *explanation; /* in place of the message (quarantine.h), or NULL */
    const char *fallback;              /* in place of the target's mailbox (fallback.h), or NULL */
};

static inline struct letter letter_planned(const struct delivery_work *work, size_t target)
{
    return (struct letter){.target = target, .doubt = work->plan->targets[target].doubt};
}

static inline const struct config *target_server(const struct delivery_work *work, size_t target)
{
    return work->targets.servers[target];
}

static inline const char *letter_mailbox(const struct delivery_work *work, const struct letter *letter)
{
    return letter->fallback != NULL ? letter->fallback : work->targets.list[letter->target].mailbox;
}

#endif
