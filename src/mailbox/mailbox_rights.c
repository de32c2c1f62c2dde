/* SPDX-License-Identifier: ISC
 *
 * For `check`: whether a mailbox is there, and what the login may do in it (RFC 4314). Nothing is begun that would have to
 * be cancelled: a proxy that keeps sessions gives them to others. The rights in a mailbox that is not there are not asked
 * for: Dovecot 2.3 ends the session if there is no such user. */
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
    snprintf(rights->letters, sizeof(rights->letters), "%s", last + 1);
}

/* Dovecot lists a shared mailbox only once the session has used it, and makes an inbox when it is first asked for it. So
 * it is asked for twice. */
static bool opens(struct mailbox *mailbox, const char *quoted, struct mailbox_reply *reply, struct fault *fault)
{
    bool can = false;
    for (int i = 0; i < 2 && !can && (i == 0 || mailbox->stream != NULL); i++)
        can = mailbox_dialogue_ask(mailbox, "STATUS", NULL, NULL, reply, fault, "STATUS %s (UIDVALIDITY)", quoted);
    return can;
}

/* Only a lost connection is a failure. */
static bool ask_rights(struct mailbox *mailbox, const char *quoted, struct mailbox_rights *rights, struct fault *fault)
{
    struct mailbox_reply reply;
    return !mailbox_dialogue_can(mailbox, "ACL") ||
           mailbox_dialogue_ask(mailbox, "MYRIGHTS", note_rights, rights, &reply, fault, "MYRIGHTS %s", quoted) ||
           reply.status != STATUS_NONE;
}

/* A mailbox that does not open may be there nevertheless, with rights that say why. */
static bool look_closer(struct mailbox *mailbox, const char *quoted, const struct mailbox_reply *reply,
                        struct mailbox_rights *rights, struct fault *fault)
{
    struct fault why;
    bool never = mailbox_refusal_is_never(reply), missing = mailbox_refusal_perhaps_missing(reply);
    bool inbox = strcasecmp(quoted, "\"INBOX\"") == 0 && !mailbox->shared;
    if (reply->status == STATUS_NONE)
        return false;
    if (!mailbox_folder_exists(mailbox, quoted, &rights->exists, &why) ||
        (rights->exists && !ask_rights(mailbox, quoted, rights, &why))) {
        *fault = why;
        return false;
    }
    if (missing && inbox && !rights->known) {
        (void)!mailbox_create(mailbox, quoted, fault); /* which explains it, and makes no inbox */
        return false;
    }
    return rights->known || (!rights->exists && !never);
}

bool mailbox_rights(struct mailbox *mailbox, const char *name, struct mailbox_rights *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    *ret = (struct mailbox_rights){.known = false};
    if (quoted == NULL || !mailbox_dialogue_capabilities(mailbox, fault))
        return false;
    ret->exists = opens(mailbox, quoted, &reply, fault);
    return ret->exists ? ask_rights(mailbox, quoted, ret, fault) : look_closer(mailbox, quoted, &reply, ret, fault);
}
