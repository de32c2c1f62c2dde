/* SPDX-License-Identifier: ISC
 *
 * Opening a mailbox to look into it, and what the server says of it. */
#ifndef ONCEDROP_MAILBOX_EXAMINE_H
#define ONCEDROP_MAILBOX_EXAMINE_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"

struct examined {
    uint32_t uidvalidity;
    uint32_t uidnext; /* 0: not told */
    uint32_t exists;
    bool has_exists;
};

/* Opens the mailbox read-only. SEARCH_FOUND: it is open; SEARCH_ABSENT: there is none of that name. Only the list of
 * mailboxes distinguishes a missing mailbox from one in trouble; other codes certainly mean trouble. One that is refused but
 * then listed may have been created in between, by the delivery of another message: it is tried once more.
 *
 * name  as mailbox_folder_name returns it */
enum search_result mailbox_examine(struct imap *imap, const char *name, struct examined *ret,
                                   struct fault *fault) OD_MUST;

/* Closes it. If the server refuses that, the connection ends. */
void mailbox_examine_end(struct imap *imap);

#endif
