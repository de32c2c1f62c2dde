/* SPDX-License-Identifier: ISC
 *
 * The recipients' copies: appended concurrently, settled together. */
#ifndef ONCEDROP_INBOXES_H
#define ONCEDROP_INBOXES_H

#include "delivery/work.h"

/* Returns true if any is planned. */
bool inboxes_any(const struct delivery_work *work) OD_MUST;

/* Returns true if one is planned and its session is open: inboxes_begin() does not block. */
bool inboxes_open(const struct delivery_work *work) OD_MUST;

/* Begins APPENDs (append_begin), while the claim is committed or before. */
void inboxes_begin(struct delivery_work *work);

/* Instead of inboxes_deliver(): closes these sessions. */
void inboxes_cancel(struct delivery_work *work);

/* After the hold: appends and settles the copies, and sets the reports. Returns true if the Sent copy is held now. */
bool inboxes_deliver(struct delivery_work *work) OD_MUST;

#endif
