/* SPDX-License-Identifier: ISC
 *
 * Names of mailboxes that may be of one and the same. Only the server knows: these decide in what order things are done, and
 * whether a mailbox is searched, never that a copy is there. */
#ifndef ONCEDROP_ALIAS_H
#define ONCEDROP_ALIAS_H

#include "base/base.h"

/* Whether two names may be of one mailbox: \Sent stands for any; a name may have the prefix of the server's
 * namespace or not, another separator, letter case, or normal form of Unicode. INBOX has no other name. */
bool alias_possible(const char *a, const char *b) OD_MUST;

#endif
