/* SPDX-License-Identifier: ISC
 *
 * Makes a copy whose claim is held: the search in doubt, the APPEND, and what its result means for the ledger and for
 * Postfix. */
#ifndef ONCEDROP_APPEND_H
#define ONCEDROP_APPEND_H

#include "delivery/work.h"

/* The result of a copy. */
struct made {
    enum copy_state state;
    bool doubt;                /* it may be there, whatever the state */
    uint32_t uidvalidity, uid; /* 0: unknown */
    struct report report;      /* for the recipients of this mailbox */
};

/* The same in the form of ledger_settle; `made` must outlive it. */
struct ledger_made append_settled(size_t target, const struct made *made) OD_MUST;

/* Whether there is time to make another copy, even if its server does not answer, and to settle it. Otherwise the
 * deadline would leave all copies made so far unsettled. */
bool append_in_time(const struct config *config) OD_MUST;

/* Makes the copy of the target at this index, which must be held, as planned: searches for it if necessary, then
 * appends it. */
struct made append_copy(struct delivery_work *work, size_t place) OD_MUST;

#endif
