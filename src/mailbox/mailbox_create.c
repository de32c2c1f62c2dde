/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/log.h"
#include "mailbox/mailbox_folder.h"
#include "mailbox/mailbox_refusal.h"

/* Dovecot's ACL plugin checks the rights of the master user, who has none: INBOX is listed, but does not open. */
static bool explain_no_inbox(struct imap *imap, struct fault *fault)
{
    struct fault minor;
    bool listed;
    if (mailbox_folder_exists(imap, "\"INBOX\"", &listed, &minor) && listed)
        return fault_set(fault,
                         "%s: the server lists the account's INBOX, but does not let this login use it: has the master"
                         " user rights there? (Dovecot's ACL plugin: set acl_user = %s)",
                         imap->where, "%u, in 2.4 acl_user = %{user}");
    return fault_set(
        fault, "%s: the account has no INBOX, and oncedrop never creates one: does the account exist on the server?",
        imap->where);
}

/* An account without INBOX does not exist, or is not what we think. */
static bool has_inbox(struct imap *imap, const char *name, struct fault *fault)
{
    if (strcasecmp(name, "\"INBOX\"") != 0) {
        if (imap_ask(imap, NULL, NULL, fault, "STATUS \"INBOX\" (UIDVALIDITY)") || imap->reply.status == STATUS_BAD)
            return true;
        if (imap->stream == NULL || !mailbox_refusal_perhaps_missing(&imap->reply))
            return false;
    }
    return explain_no_inbox(imap, fault);
}

/* If one login opens all mailboxes: the owner needs an inbox, and we rights there. */
static bool has_home(struct imap *imap, const char *home, const char *name, struct fault *fault)
{
    if (home == NULL)
        return fault_set(fault, "%s: mailbox %s does not exist, and is not created as its owner is unknown",
                         imap->where, name);
    return imap_ask(imap, NULL, NULL, fault, "STATUS %s (UIDVALIDITY)", home);
}

/* With the use \Sent, if possible (RFC 6154, 3), so that mail programs find it. */
static bool ask_create(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    struct imap *imap = mailbox->imap;
    char *sent OD_CLEANUP(base_free) = mailbox->sent_unmarked ? imap_quote(mailbox->sent) : NULL;
    if (sent != NULL && strcmp(sent, name) == 0 && imap_can(imap, "CREATE-SPECIAL-USE")) {
        if (imap_ask(imap, NULL, NULL, fault, "CREATE %s (USE (\\Sent))", name))
            return true;
        if (strcmp(imap->reply.code, "USEATTR") != 0)
            return false;
    }
    return imap_ask(imap, NULL, NULL, fault, "CREATE %s", name);
}

/* Some servers have no code for an existing mailbox. */
static bool exists_now(struct imap *imap, const char *name)
{
    struct fault minor;
    bool exists;
    if (strcmp(imap->reply.code, "ALREADYEXISTS") == 0)
        return true;
    return imap->reply.status == STATUS_NO && imap->reply.code[0] == '\0' &&
           mailbox_folder_exists(imap, name, &exists, &minor) && exists;
}

enum mailbox_made mailbox_create(struct mailbox *mailbox, const char *name, const char *owners, struct fault *fault)
{
    struct imap *imap = mailbox->imap;
    char *home OD_CLEANUP(base_free) = mailbox->shared && owners != NULL ? mailbox_folder_name(mailbox, owners, fault)
                                                                         : NULL;
    if (home != NULL && strcmp(home, name) == 0)
        return MADE_EXISTS;
    if (mailbox->shared ? !has_home(imap, home, name, fault) : !has_inbox(imap, name, fault))
        return MADE_TROUBLE;
    if (!mailbox->create) {
        fault_set(fault, "%s: mailbox %s does not exist and imap.create is off", imap->where, name);
        return MADE_NEVER;
    }
    if (ask_create(mailbox, name, fault))
        return MADE_CREATED;
    fault_prefix(fault, "mailbox %s does not exist", name);
    if (mailbox_refusal_is_never(&imap->reply))
        return MADE_NEVER;
    return exists_now(imap, name) ? MADE_EXISTS : MADE_TROUBLE;
}

void mailbox_subscribe(struct mailbox *mailbox, const char *name)
{
    struct fault minor;
    char escaped_name[512], escaped_why[1024];
    if (mailbox->subscribe && !imap_ask(mailbox->imap, NULL, NULL, &minor, "SUBSCRIBE %s", name))
        log_warning("mailbox %s was created, but not subscribed to: %s",
                    log_escape_field(name, escaped_name, sizeof(escaped_name)),
                    log_escape_text(minor.text, escaped_why, sizeof(escaped_why)));
}
