/* SPDX-License-Identifier: ISC
 *
 * A claim: the copies that this delivery makes, from their COMMIT as `appending` to that of their results. */
#ifndef ONCEDROP_CLAIM_H
#define ONCEDROP_CLAIM_H

#include "delivery/made.h"

/* Claims the copies that the plan makes, together with the record and the present answers: ledger_claim. */
void claim_copies(struct delivery_work *work);

/* Settles, which is the commit point, the recipients' copies or, if `sent`, the Sent copy. The answers must be set; a
 * success that could not be recorded is taken back. Returns whether the Sent copy is held now. */
bool claim_settle(struct delivery_work *work, bool sent);

/* Nothing was sent, and nothing will be: gives back what is not settled. */
void claim_abandon(struct delivery_work *work);

#endif
