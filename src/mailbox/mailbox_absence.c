/* SPDX-License-Identifier: ISC
 *
 * A UID is assigned once, ascending, for each UIDVALIDITY (RFC 3501, 2.3.1.1), except after a restore. */
#include <stdlib.h>
#include <string.h>

#include "mailbox/mailbox_candidates.h"
#include "mailbox/mailbox_examine.h"
#include "mailbox/mailbox_folder.h"

struct uids {
    uint32_t *list;
    size_t count;
    bool damaged;
};

static void free_uids(struct uids *uids)
{
    free(uids->list);
}

static void record_uids(void *context, struct imap_reply *reply)
{
    struct uids *uids = context;
    if (reply->status == STATUS_NONE && strncasecmp(reply->data, "SEARCH", 6) == 0)
        uids->damaged |= !imap_reply_search(reply, &uids->list, &uids->count);
}

/* Compares Message-IDs. The same one may be our message, changed by the server. */
static enum absence fetch_message_id(struct imap *imap, const struct search *search, uint32_t uid, struct error *error)
{
    struct uids uids OD_CLEANUP(free_uids) = {.count = 0};
    uint32_t ignored;
    if (!imap_command(imap, record_uids, &uids, error, "UID SEARCH UID %u", uid))
        return ABSENCE_ERROR;
    if (uids.damaged || uids.count != 1 || uids.list[0] != uid || search->ids.feed == NULL)
        return ABSENCE_DELETED;
    switch (mailbox_candidates(imap, search, IDS_HEADERS, &uid, 1, &ignored, error)) {
    case SEARCH_ABSENT:
        return ABSENCE_LOST;
    case SEARCH_FOUND:
        return ABSENCE_DELETED;
    case SEARCH_ERROR:
        break;
    }
    return ABSENCE_ERROR;
}

enum absence mailbox_absence(struct mailbox *mailbox, const struct search *search, uint32_t uidvalidity, uint32_t uid,
                             struct error *error)
{
    struct examined examined;
    struct error why;
    enum absence absence = ABSENCE_ERROR;
    char *name OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, search->mailbox, &why);
    enum search_result opened = name != NULL ? mailbox_examine(mailbox->imap, name, &examined, &why) : SEARCH_ERROR;
    bool known = uid != 0 && opened == SEARCH_FOUND && examined.uidvalidity != 0;
    if (opened == SEARCH_ABSENT || (known && examined.uidvalidity != uidvalidity) ||
        (known && examined.uidnext != 0 && examined.uidnext <= uid))
        absence = ABSENCE_LOST;
    else if (known)
        absence = fetch_message_id(mailbox->imap, search, uid, &why);
    else if (opened == SEARCH_FOUND)
        absence = ABSENCE_DELETED;
    if (absence == ABSENCE_ERROR) {
        *error = why;
        imap_stream_drop(mailbox->imap);
    } else if (opened == SEARCH_FOUND) {
        mailbox_examine_end(mailbox->imap);
    }
    return absence;
}
