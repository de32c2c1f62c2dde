/* SPDX-License-Identifier: ISC
 *
 * The inbox, for mail to a folder named by the detail of its address that cannot be made.
 *
 * The copy stays the folder's: a copy is (message, account, mailbox), and if that changed from one try to the next, both
 * mailboxes could get the message. So what is in the ledger is that the folder's copy is stored, and why it is not there.
 * Since it may be in the inbox, it is searched for there, too, when in doubt; and whoever has a copy of his own to add to
 * the inbox looks for this one first (plan.c), so that there is one. */
#ifndef ONCEDROP_FALLBACK_H
#define ONCEDROP_FALLBACK_H

#include "delivery/made.h"

/* After a search that did not find the copy in its folder. If it is in doubt, an earlier attempt may have stored it in the
 * inbox: searches there. Not if the account has another copy, which would be taken for this one: then only fallback_append
 * can tell, after the folder was tried.
 *
 * True: to be appended; letter->doubt: whether it may be in the inbox. False: *made is the result. */
bool fallback_search(struct delivery_work *work, struct letter *letter, struct made *made) OD_MUST;

/* If the result of this target says that its folder cannot be made: searches the inbox if the copy may be there, and appends
 * it there. Replaces the result; without enough time, or while another copy may still come to the inbox, it is deferred. The
 * account's other copies must have been tried. */
void fallback_append(struct delivery_work *work, size_t target);

/* Whether another copy for the account of this target may still come to the mailbox: one of this delivery, whose server did
 * not say what became of it. A search that does not find it yet would prove nothing. */
bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox) OD_MUST;

#endif
