/* SPDX-License-Identifier: ISC
 *
 * A delivery in progress: the results of its steps. Each step only adds its own; `whole` alone may change later. */
#ifndef ONCEDROP_WORK_H
#define ONCEDROP_WORK_H

#include "delivery/plan.h"
#include "delivery/targets.h"

struct delivery_work {
    struct delivery *delivery;
    struct targets targets;
    struct ledger_found *found;
    struct plan *plan;
    struct ledger_claim *claim;
    size_t unreachable;             /* the target whose IMAP session could not be opened during the claim ... */
    struct fault unreachable_fault; /* ... and why; LEDGER_NO_TARGET: none */
    bool whole;                     /* the message is known to be complete; false again if the reader goes away */
    bool sent_done;                 /* nobody must be retried for the Sent copy */
};

#endif
