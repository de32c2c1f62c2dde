/* SPDX-License-Identifier: ISC */
#include "mailbox/mailbox_internal.h"

static void record_examined(void *context, struct imap_reply *reply)
{
    struct examined *examined = context;
    if (imap_reply_exists(reply, &examined->exists))
        examined->has_exists = true;
    else if (!imap_reply_code_number(reply, "UIDVALIDITY", &examined->uidvalidity))
        (void)!imap_reply_code_number(reply, "UIDNEXT", &examined->uidnext);
}

enum search_result mailbox_examine(struct imap *imap, const char *name, struct examined *ret, struct error *error)
{
    struct error minor;
    bool listed = true;
    for (int i = 0; i < 2 && listed; i++) {
        *ret = (struct examined){.exists = 0};
        if (imap_command(imap, record_examined, ret, error, "EXAMINE %s", name)) {
            if (ret->has_exists)
                return SEARCH_PRESENT;
            error_set(error, "%s: EXAMINE did not report the number of messages", imap->peer_name);
            return SEARCH_UNKNOWN;
        }
        if (imap->reply.status != STATUS_NO || !mailbox_refusal_maybe_missing(&imap->reply) ||
            !mailbox_folder_exists(imap, name, &listed, &minor))
            return SEARCH_UNKNOWN;
    }
    return listed ? SEARCH_UNKNOWN : SEARCH_MISSING;
}

void mailbox_examine_end(struct imap *imap)
{
    struct error ignored;
    if (!imap_command(imap, NULL, NULL, &ignored, imap_can(imap, "UNSELECT") ? "UNSELECT" : "CLOSE"))
        imap_stream_drop(imap);
}
