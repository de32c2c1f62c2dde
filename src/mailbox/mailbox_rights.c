/* SPDX-License-Identifier: ISC
 *
 * For `check`: what the login may do in a mailbox (RFC 4314). Not asked where the mailbox is not listed: Dovecot 2.3 ends the
 * session if that is about a user who does not exist. */
#include "mailbox/mailbox_session.h"

#include <stdio.h>
#include <string.h>

/* "MYRIGHTS mailbox rights" (RFC 4314, 3.8). */
static void note_rights(void *context, struct mailbox_reply *reply)
{
    struct mailbox_rights *rights = context;
    if (strncasecmp(reply->data, "MYRIGHTS ", 9) != 0)
        return;
    const char *last = strrchr(reply->data, ' ');
    rights->known = true;
    snprintf(rights->letters, sizeof rights->letters, "%s", last + 1);
}

bool mailbox_rights(struct mailbox *mailbox, const char *name, struct mailbox_rights *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    struct mailbox_rights rights = {.known = false};
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL || !mailbox_dialogue_capabilities(mailbox, fault))
        return false;
    if (mailbox_dialogue_can(mailbox, "ACL") &&
        !mailbox_dialogue_ask(mailbox, "MYRIGHTS", note_rights, &rights, &reply, fault, "MYRIGHTS %s", quoted))
        return false;
    *ret = rights;
    return true;
}
