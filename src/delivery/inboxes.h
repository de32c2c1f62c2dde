/* SPDX-License-Identifier: ISC
 *
 * The recipients' mailboxes: their copies are appended one after another, then settled together. */
#ifndef ONCEDROP_INBOXES_H
#define ONCEDROP_INBOXES_H

#include "delivery/work.h"

/* Whether the plan includes any. */
bool inboxes_any(const struct delivery_work *work) OD_MUST;

/* Opens the IMAP session for the first copy; to be called while the database works on the claim. Remembers a
 * failure. */
void inboxes_open_first(struct delivery_work *work);

/* After the hold: appends the copies, settles them, and sets the reports. Returns whether the Sent copy is held now. */
bool inboxes_deliver(struct delivery_work *work) OD_MUST;

#endif
