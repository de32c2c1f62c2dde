/* SPDX-License-Identifier: ISC
 *
 * A delivery in progress: the results of its steps. Each step adds its own; only of a copy may a later step tell more, and
 * `whole` may change. */
#ifndef ONCEDROP_WORK_H
#define ONCEDROP_WORK_H

#include "delivery/plan.h"
#include "delivery/targets.h"

struct delivery_work {
    const struct delivery_request *request;
    struct delivery *delivery; /* the delivery of this request, with its answers */
    struct targets targets;
    char *
        *refusals; /* [targets]: ledger_refusal_id, if the account may have been refused; NULL: not asked (refused.h) */
    struct ledger_found *found;
    struct plan *plan;
    bool *left; /* [targets] those that a look leaves alone (look.h); NULL: there was none */
    struct ledger_claim *claim;
    struct appending *appends; /* [targets] the APPENDs under way (append.h) */
    struct made *made;         /* [targets] the results (made.h) */
    bool looking;              /* nothing is done because of what a search does not find: a kept session will do */
    bool whole;                /* the message is known to be complete; false again if the reader goes away */
};

/* What is to be stored for a target, and where. */
struct letter {
    size_t target;
    bool doubt;                        /* an earlier attempt may have stored it there */
    const struct message *explanation; /* stored in place of the message (quarantine.h); NULL: the message */
    const char *fallback;              /* the mailbox in place of the target's (fallback.h); NULL: the target's */
};

/* The message, in the target's mailbox. */
static inline struct letter letter_planned(const struct delivery_work *work, size_t target)
{
    return (struct letter){.target = target, .doubt = work->plan->targets[target].doubt};
}

/* The configuration with the target's IMAP server. */
static inline const struct config *target_server(const struct delivery_work *work, size_t target)
{
    return work->targets.servers[target];
}

static inline const char *letter_mailbox(const struct delivery_work *work, const struct letter *letter)
{
    return letter->fallback != NULL ? letter->fallback : work->targets.list[letter->target].mailbox;
}

#endif
