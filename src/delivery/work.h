/* SPDX-License-Identifier: ISC
 *
 * A delivery under way: what each step has come to. A step only adds its own, but for `whole`. */
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
    size_t unreachable;             /* the target whose IMAP session was not to be had during the claim ... */
    struct fault unreachable_fault; /* ... and why; LEDGER_NO_TARGET: none */
    bool whole;                     /* the message is known not to be cut short; a reader that goes may take it back */
    bool sent_done;                 /* nobody has to come again for the Sent copy */
};

#endif
