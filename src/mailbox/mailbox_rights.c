/* SPDX-License-Identifier: ISC
 *
 * For `check`: whether a mailbox of somebody else is there, and what the login may do in it (RFC 4314). The rights in one
 * that is not there are not asked for: Dovecot 2.3 ends the session if there is no such user. */
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

/* Dovecot lists a shared mailbox only once the session has used it, and makes an inbox when it is first asked for it. So
 * it is asked for twice, and the list counts only after that: for a mailbox that may not be read. */
static bool exists(struct mailbox *mailbox, const char *quoted, bool *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    for (int i = 0; i < 2; i++) {
        if (mailbox_dialogue_ask(mailbox, "STATUS", NULL, NULL, &reply, fault, "STATUS %s (UIDVALIDITY)", quoted)) {
            *ret = true;
            return true;
        }
        if (reply.status == STATUS_NONE)
            return false;
    }
    return mailbox_folder_exists(mailbox, quoted, ret, fault);
}

bool mailbox_rights(struct mailbox *mailbox, const char *name, struct mailbox_rights *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    struct mailbox_rights rights = {.known = false};
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL || !mailbox_dialogue_capabilities(mailbox, fault) ||
        !exists(mailbox, quoted, &rights.exists, fault))
        return false;
    if (rights.exists && mailbox_dialogue_can(mailbox, "ACL") &&
        !mailbox_dialogue_ask(mailbox, "MYRIGHTS", note_rights, &rights, &reply, fault, "MYRIGHTS %s", quoted))
        return false;
    *ret = rights;
    return true;
}
