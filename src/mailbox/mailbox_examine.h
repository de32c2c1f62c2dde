/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_MAILBOX_EXAMINE_H
#define ONCEDROP_MAILBOX_EXAMINE_H

#include "imap/imap.h"
#include "mailbox/mailbox.h"

struct examined {
    uint32_t uidvalidity;
    uint32_t uidnext; /* 0: not reported */
    uint32_t exists;
    bool has_exists;
};

/* Opens a mailbox read-only. SEARCH_PRESENT: open; SEARCH_MISSING: no such mailbox. Only LIST distinguishes that from most
 * temporary failures. Retries once if the mailbox is refused but listed: another delivery may just have created it.
 * name: of mailbox_folder_name. */
enum search_result mailbox_examine(struct imap *imap, const char *name, struct examined *ret,
                                   struct error *error) OD_MUST;

/* Deselects the mailbox, or closes the connection. */
void mailbox_examine_end(struct imap *imap);

#endif
