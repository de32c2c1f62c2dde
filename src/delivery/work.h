/* SPDX-License-Identifier: ISC
 *
 * A delivery in progress: the results of its steps. Each step only adds its own; `whole` alone may change later. */
#ifndef ONCEDROP_WORK_H
#define ONCEDROP_WORK_H

#include "delivery/plan.h"
#include "delivery/targets.h"

/* The APPEND of a target on its session, from append_begin to append_collect. */
struct append_ahead {
    bool begun;                    /* there is a result to collect, of the APPEND or the lack of a session */
    bool unreachable;              /* a session for the search before it could not be opened (fault) */
    bool put_off;                  /* no session could be opened in a hurry: it is for the end */
    bool kept;                     /* the session is from an earlier delivery: it may be lost without any trouble */
    const struct message *instead; /* what is appended in place of the message; NULL: the message */
    const char *fallback;          /* the mailbox in place of the target's, which cannot be made; NULL: the target's */
    struct mailbox *mailbox;       /* NULL: no session could be opened ... */
    struct fault fault;            /* ... and why */
    struct append request;
    struct iovec *pieces;
};

struct delivery_work {
    struct delivery *delivery;
    struct targets targets;
    struct ledger_found *found;
    struct plan *plan;
    struct ledger_claim *claim;
    struct append_ahead *ahead; /* one for each target */
    bool whole;                 /* the message is known to be complete; false again if the reader goes away */
    bool sent_fenced; /* a copy whose fate is unknown may still come to its mailbox, which has another name then */
    bool sent_done;   /* nobody must be retried for the Sent copy */
};

#endif
