/* SPDX-License-Identifier: ISC
 *
 * The end of a claim: its results go into the ledger, or it is given back. */
#ifndef ONCEDROP_SETTLE_H
#define ONCEDROP_SETTLE_H

#include "delivery/made.h"

/* The commit point of the recipients' copies or, if `sent`, of the Sent copy. Their answers must be set; a success that
 * could not be recorded is taken back. Returns whether the Sent copy is held now. */
bool settle_copies(struct delivery_work *work, bool sent);

/* Nothing was sent, and nothing will be: gives the claim back, for the copies that are not settled yet. */
void settle_abandon(struct delivery_work *work);

#endif
