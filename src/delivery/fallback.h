/* SPDX-License-Identifier: ISC
 *
 * The inbox, for mail to a folder that the address's detail names and that cannot be created.
 *
 * The ledger has the copy as the folder's: if its mailbox changed between attempts, both could get the message. The
 * inbox is searched for it in doubt, and before the inbox gets its own copy (plan.c). */
#ifndef ONCEDROP_FALLBACK_H
#define ONCEDROP_FALLBACK_H

#include "delivery/copy_result.h"

/* After SEARCH_MISSING in the folder, searches the inbox if the copy is in doubt. If the account has a sibling
 * copy, which the search would find, fallback_append() decides instead. Returns false with the result set, or true: append the
 * copy, which the inbox may have if the item is in doubt. */
bool fallback_search(struct delivery_work *work, struct append_item *item, struct copy_result *result) OD_MUST;

/* If the folder cannot be created: searches the inbox if necessary, appends there, and replaces the result. Defers if
 * time is short or a sibling may arrive there. Precondition: the account's other copies were tried. */
void fallback_append(struct delivery_work *work, size_t target);

/* Returns true if a sibling by this delivery may still arrive in the mailbox: a search that does not find it proves
 * nothing. */
bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox) OD_MUST;

#endif
