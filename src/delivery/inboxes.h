/* SPDX-License-Identifier: ISC
 *
 * The recipients' mailboxes: their copies are appended at the same time, then settled together. */
#ifndef ONCEDROP_INBOXES_H
#define ONCEDROP_INBOXES_H

#include "delivery/work.h"

/* Whether the plan includes any. */
bool inboxes_any(const struct delivery_work *work) OD_MUST;

/* Whether there is one, and its account's session is open, so that inboxes_begin does not wait for a server. */
bool inboxes_open(const struct delivery_work *work) OD_MUST;

/* Opens IMAP sessions and begins APPENDs (append_begin), from which nothing is stored before inboxes_deliver; to be
 * called while the database works on the claim, or before it does. */
void inboxes_begin(struct delivery_work *work);

/* Instead of inboxes_deliver: ends the sessions of what was begun. */
void inboxes_cancel(struct delivery_work *work);

/* After the hold: appends the copies, settles them, and sets the reports. Returns whether the Sent copy is held now. */
bool inboxes_deliver(struct delivery_work *work) OD_MUST;

#endif
