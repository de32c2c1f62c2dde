/* SPDX-License-Identifier: ISC
 *
 * Makes a mailbox, and finds out why that is impossible. */
#include <string.h>

#include "base/log.h"
#include "mailbox/mailbox_folder.h"
#include "mailbox/mailbox_refusal.h"

static void warn_unsubscribed(const char *name, const char *why)
{
    char escaped_name[512], escaped_why[1024];
    log_warning("mailbox %s was created, but not subscribed to: %s",
                log_escape_field(name, escaped_name, sizeof(escaped_name)),
                log_escape_text(why, escaped_why, sizeof(escaped_why)));
}

/* Dovecot's ACL plugin looks at the rights of the master user, who has none: it lists the INBOX, but it cannot be opened. */
static void explain_no_inbox(struct mailbox *mailbox, struct fault *fault)
{
    struct fault minor;
    bool listed;
    if (mailbox_folder_exists(mailbox->imap, "\"INBOX\"", &listed, &minor) && listed)
        fault_set(fault,
                  "%s: the server lists the account's INBOX, but does not let this login use it: has the master user"
                  " rights there? (Dovecot's ACL plugin: set acl_user = %s)",
                  mailbox->imap->where, "%u, in 2.4 acl_user = %{user}");
    else
        fault_set(fault,
                  "%s: the account has no INBOX, and oncedrop never creates one: does the account exist on the server?",
                  mailbox->imap->where);
}

/* The same where one login opens everybody's mailboxes: the owner must have an inbox, and we rights there. */
static bool has_home(struct mailbox *mailbox, const char *home, const char *name, struct fault *fault)
{
    struct imap_reply reply;
    if (home == NULL)
        fault_set(fault, "%s: mailbox %s does not exist, and is not created as its owner is unknown",
                  mailbox->imap->where, name);
    return home != NULL &&
           imap_ask(mailbox->imap, "STATUS", NULL, NULL, &reply, fault, "STATUS %s (UIDVALIDITY)", home);
}

/* An account without INBOX does not exist, or is not what we think it is: nothing is created in it. */
static bool has_inbox(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    struct imap_reply reply;
    struct fault minor;
    bool asked = strcasecmp(name, "\"INBOX\"") != 0;
    if (asked && (imap_ask(mailbox->imap, "STATUS", NULL, NULL, &reply, &minor, "STATUS \"INBOX\" (UIDVALIDITY)") ||
                  reply.status == STATUS_BAD))
        return true;
    if (asked && (mailbox->imap->stream == NULL || !mailbox_refusal_perhaps_missing(&reply)))
        *fault = minor;
    else
        explain_no_inbox(mailbox, fault);
    return false;
}

/* With the special use, if it is for \Sent and the server can do that (RFC 6154, 3), so that mail programs find it. */
static bool ask_create(struct mailbox *mailbox, const char *name, struct imap_reply *reply, struct fault *fault)
{
    char *sent OD_CLEANUP(base_free) = mailbox->sent_unmarked ? imap_quote(mailbox->sent) : NULL;
    if (sent != NULL && strcmp(sent, name) == 0 && imap_can(mailbox->imap, "CREATE-SPECIAL-USE")) {
        if (imap_ask(mailbox->imap, "CREATE", NULL, NULL, reply, fault, "CREATE %s (USE (\\Sent))", name))
            return true;
        if (strcmp(reply->code, "USEATTR") != 0)
            return false;
    }
    return imap_ask(mailbox->imap, "CREATE", NULL, NULL, reply, fault, "CREATE %s", name);
}

/* Some servers have no code for a mailbox that exists. */
static bool exists_now(struct mailbox *mailbox, const char *name, const struct imap_reply *reply)
{
    struct fault minor;
    bool exists;
    if (strcmp(reply->code, "ALREADYEXISTS") == 0)
        return true;
    return reply->status == STATUS_NO && reply->code[0] == '\0' &&
           mailbox_folder_exists(mailbox->imap, name, &exists, &minor) && exists;
}

/* Also if another delivery was faster with CREATE: it may not get as far as this. */
static void subscribe(struct mailbox *mailbox, const char *name)
{
    struct imap_reply reply;
    struct fault minor;
    if (mailbox->subscribe && !imap_ask(mailbox->imap, "SUBSCRIBE", NULL, NULL, &reply, &minor, "SUBSCRIBE %s", name))
        warn_unsubscribed(name, minor.text);
}

enum mailbox_made mailbox_create(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    struct imap_reply reply;
    const char *owners = mailbox->appending.append.home;
    char *home OD_CLEANUP(base_free) = mailbox->shared && owners != NULL ? mailbox_folder_name(mailbox, owners, fault)
                                                                         : NULL;
    if (home != NULL && strcmp(home, name) == 0)
        return MADE_EXISTS;
    if (mailbox->shared ? !has_home(mailbox, home, name, fault) : !has_inbox(mailbox, name, fault))
        return MADE_TROUBLE;
    if (!mailbox->create) {
        fault_set(fault, "%s: mailbox %s does not exist and imap.create is off", mailbox->imap->where, name);
        return MADE_NEVER;
    }
    enum mailbox_made made = MADE_CREATED;
    if (!ask_create(mailbox, name, &reply, fault)) {
        fault_prefix(fault, "mailbox %s does not exist", name);
        made = mailbox_refusal_is_never(&reply)    ? MADE_NEVER
               : exists_now(mailbox, name, &reply) ? MADE_EXISTS
                                                   : MADE_TROUBLE;
    }
    if (made >= MADE_EXISTS)
        subscribe(mailbox, name);
    return made;
}
