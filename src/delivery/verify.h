/* SPDX-License-Identifier: ISC
 *
 * Verifies copies in their mailboxes before anything is claimed: for dry runs, and `restore`, which records nothing
 * about present copies. */
#ifndef ONCEDROP_VERIFY_H
#define ONCEDROP_VERIFY_H

#include "delivery/delivery.h"

struct delivery_work;

static inline bool verify_is_wanted(const struct delivery_request *request)
{
    return request->redeliver == REDELIVER_MISSING || request->redeliver == REDELIVER_LOST ||
           (request->redeliver == REDELIVER_VERIFY && request->dry_run);
}

/* Searches for each copy that the ledger has as stored. Precondition: there is a plan, and the lock is held.
 *
 * Returns a new array of targets to skip, and sets their reports: present, perhaps deleted (REDELIVER_LOST), not verified
 * or, with REDELIVER_MISSING and REDELIVER_LOST, never stored. The search before the APPEND confirms the absence of others. */
bool *verify_copies(struct delivery_work *work) OD_MUST;

#endif
