/* SPDX-License-Identifier: ISC
 *
 * Makes a copy, from the search to the APPEND; and falls back to the inbox, for mail to a folder named by the detail of its
 * address that cannot be made.
 *
 * Such a copy stays the folder's: a copy is (message, account, mailbox), and if that changed from one try to the next, both
 * mailboxes could get the message. So what is in the ledger is that the folder's copy is stored, and why it is not there.
 * Since it may be in the inbox, it is searched for there, too, when in doubt; and whoever has a copy of his own to add to
 * the inbox looks for this one first (plan.c), so that there is one. */
#ifndef ONCEDROP_COPY_H
#define ONCEDROP_COPY_H

#include "delivery/made.h"

/* Makes the copy of this target, which must be held, as planned, and sets its result: searches for it if necessary, then
 * appends it on the same session. What cannot be stored as it is, is left to fallback_append and quarantine.h. */
void copy_make(struct delivery_work *work, size_t target);

/* If the result of this target says that its folder cannot be made: searches the inbox if the copy may be there, and appends
 * it there. Replaces the result; without enough time, or while another copy may still come to the inbox, it is deferred. The
 * account's other copies must have been tried. */
void fallback_append(struct delivery_work *work, size_t target);

/* Whether another copy for the account of this target may still come to the mailbox: one of this delivery, whose server did
 * not say what became of it. A search that does not find it yet would prove nothing. */
bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox) OD_MUST;

#endif
