/* SPDX-License-Identifier: ISC
 *
 * Verifies copies in their mailboxes before anything is claimed: for dry runs, and `restore`, which records nothing
 * about present copies. */
#ifndef ONCEDROP_LOOK_H
#define ONCEDROP_LOOK_H

#include "delivery/work.h"

static inline bool look_wanted(const struct delivery_request *request)
{
    return request->again == AGAIN_MISSING || request->again == AGAIN_LOST ||
           (request->again == AGAIN_VERIFY && request->dry_run);
}

/* Searches for each copy that the ledger has as stored. Precondition: there is a plan, and the lock is held.
 *
 * Returns a new array of targets to skip, and sets their reports: present, perhaps deleted (AGAIN_LOST), not verified
 * or, with AGAIN_MISSING and AGAIN_LOST, never stored. The search before the APPEND confirms the absence of others. */
bool *look_into_mailboxes(struct delivery_work *work) OD_MUST;

#endif
