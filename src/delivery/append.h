/* SPDX-License-Identifier: ISC
 *
 * From a held claim to what is known of the copy: the search in doubt, the APPEND, and what its answer means for the
 * ledger and for Postfix. */
#ifndef ONCEDROP_APPEND_H
#define ONCEDROP_APPEND_H

#include "delivery/work.h"

/* What became of a copy. */
struct made {
    enum copy_state state;
    bool doubt;                /* it may be there, whatever the state says */
    uint32_t uidvalidity, uid; /* 0: not known */
    struct report report;      /* for the recipients whose mailbox it is */
};

/* The same for ledger_settle; `made` must outlive it. */
struct ledger_made append_settled(size_t target, const struct made *made) OD_MUST;

/* Whether there is time for another copy, should its server be silent, and for settling it: the deadline would leave all
 * that were made before it unsettled. */
bool append_in_time(const struct config *config) OD_MUST;

/* Makes the held copy of the target at this place as the plan says: looks for it, appends it. */
struct made append_copy(struct delivery_work *work, size_t place) OD_MUST;

#endif
