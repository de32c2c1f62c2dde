/* SPDX-License-Identifier: ISC
 *
 * A claim: from the COMMIT of copies as `appending` to the COMMIT of their results. */
#ifndef ONCEDROP_CLAIM_H
#define ONCEDROP_CLAIM_H

#include "delivery/copy_result.h"

/* Commits the planned copies, the message and the present replies (ledger_claim). */
void claim_copies(struct delivery_work *work);

/* Settles the recipients' copies or, if `sent`, the Sent copy: the commit point. A success that could not be recorded
 * becomes a deferral. Returns true if the Sent copy is held now. */
bool claim_settle(struct delivery_work *work, bool sent);

/* Releases what is not settled. Precondition: nothing of the message was sent for it. */
void claim_release(struct delivery_work *work);

#endif
