/* SPDX-License-Identifier: ISC
 *
 * The recipients' mailboxes: their copies are appended one after another, and settled together. */
#ifndef ONCEDROP_INBOXES_H
#define ONCEDROP_INBOXES_H

#include "delivery/work.h"

/* Whether the plan has any made. */
bool inboxes_any(const struct delivery_work *work) OD_MUST;

/* Opens the IMAP session of the first that will be made, to be called while the database works at the claim. When there is
 * none to be had, that is known then. */
void inboxes_open_first(struct delivery_work *work);

/* Behind the hold: appends the held copies, settles them, and tells the recipients. Returns whether the Sent copy is held
 * next. */
bool inboxes_deliver(struct delivery_work *work) OD_MUST;

#endif
