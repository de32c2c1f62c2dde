/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_SAME_MAILBOX_H
#define ONCEDROP_SAME_MAILBOX_H

#include "base/base.h"

/* Returns true if two names may be the same mailbox: \Sent and any, or names that differ in namespace prefix,
 * separator, case or Unicode normal form. INBOX has no other name. Only the server knows: a guess affects order and
 * searches, but never says that a copy is stored. */
bool same_mailbox_possible(const char *a, const char *b) OD_MUST;

#endif
