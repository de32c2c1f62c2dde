/* SPDX-License-Identifier: ISC
 *
 * Looks into the mailboxes for what is stored according to the ledger, before anything is claimed: for dry runs, and for
 * `restore`, which leaves no trace in the ledger of what is in its place. */
#ifndef ONCEDROP_LOOK_H
#define ONCEDROP_LOOK_H

#include "delivery/work.h"

/* Whether a delivery begins with a look. */
static inline bool look_wanted(const struct delivery_request *request)
{
    return request->again == AGAIN_MISSING || request->again == AGAIN_LOST ||
           (request->again == AGAIN_VERIFY && request->dry_run);
}

/* After the first plan, while the lock is held: looks for each copy that is stored according to the ledger.
 *
 * Returns a new array, whether each target is to be left alone: it is in its place, or may have been deleted (AGAIN_LOST), or
 * that is not known; with AGAIN_MISSING and AGAIN_LOST also if it was never stored. The report of each says which. Of the
 * others a search before the APPEND has to confirm that they are missing. */
bool *look_into_mailboxes(struct delivery_work *work) OD_MUST;

#endif
