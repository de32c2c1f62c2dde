/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/log.h"
#include "mailbox/mailbox_internal.h"

/* Dovecot's ACL plugin checks the rights of the master user, who has none: INBOX is listed, but does not open. */
static bool explain_no_inbox(struct imap *imap, struct error *error)
{
    struct error minor;
    bool listed;
    if (mailbox_folder_exists(imap, "\"INBOX\"", &listed, &minor) && listed)
        return error_set(error,
                         "%s: the server lists the account's INBOX, but does not let this login use it: has the master"
                         " user rights there? (Dovecot's ACL plugin: set acl_user = %s)",
                         imap->peer_name, "%u, in 2.4 acl_user = %{user}");
    return error_set(
        error, "%s: the account has no INBOX, and oncedrop never creates one: does the account exist on the server?",
        imap->peer_name);
}

/* An account without INBOX does not exist, or is not what we think. */
static bool has_inbox(struct imap *imap, const char *name, struct error *error)
{
    if (strcasecmp(name, "\"INBOX\"") != 0) {
        if (imap_command(imap, NULL, NULL, error, "STATUS \"INBOX\" (UIDVALIDITY)") || imap->reply.status == STATUS_BAD)
            return true;
        if (imap->stream == NULL || !mailbox_refusal_maybe_missing(&imap->reply))
            return false;
    }
    return explain_no_inbox(imap, error);
}

/* If one login opens all mailboxes: the owner needs an inbox, and we rights there. */
static bool has_home(struct imap *imap, const char *home, const char *name, struct error *error)
{
    if (home == NULL)
        return error_set(error, "%s: mailbox %s does not exist, and is not created as its owner is unknown",
                         imap->peer_name, name);
    return imap_command(imap, NULL, NULL, error, "STATUS %s (UIDVALIDITY)", home);
}

/* With the use \Sent, if possible (RFC 6154, 3), so that mail programs find it. */
static bool ask_create(struct mailbox *mailbox, const char *name, struct error *error)
{
    struct imap *imap = mailbox->imap;
    char *sent OD_CLEANUP(base_free) = mailbox->sent_unmarked ? imap_quote(mailbox->sent) : NULL;
    if (sent != NULL && strcmp(sent, name) == 0 && imap_can(imap, "CREATE-SPECIAL-USE")) {
        if (imap_command(imap, NULL, NULL, error, "CREATE %s (USE (\\Sent))", name))
            return true;
        if (strcmp(imap->reply.code, "USEATTR") != 0)
            return false;
    }
    return imap_command(imap, NULL, NULL, error, "CREATE %s", name);
}

/* Some servers have no code for an existing mailbox. */
static bool exists_now(struct imap *imap, const char *name)
{
    struct error minor;
    bool exists;
    if (strcmp(imap->reply.code, "ALREADYEXISTS") == 0)
        return true;
    return imap->reply.status == STATUS_NO && imap->reply.code[0] == '\0' &&
           mailbox_folder_exists(imap, name, &exists, &minor) && exists;
}

enum mailbox_created mailbox_create(struct mailbox *mailbox, const char *name, const char *owners, struct error *error)
{
    struct imap *imap = mailbox->imap;
    char *home OD_CLEANUP(base_free) = mailbox->shared && owners != NULL ? mailbox_folder_name(mailbox, owners, error)
                                                                         : NULL;
    if (home != NULL && strcmp(home, name) == 0)
        return CREATE_EXISTS;
    if (mailbox->shared ? !has_home(imap, home, name, error) : !has_inbox(imap, name, error))
        return CREATE_ERROR;
    if (!mailbox->create) {
        error_set(error, "%s: mailbox %s does not exist and imap.create is off", imap->peer_name, name);
        return CREATE_IMPOSSIBLE;
    }
    if (ask_create(mailbox, name, error))
        return CREATE_DONE;
    error_prefix(error, "mailbox %s does not exist", name);
    if (mailbox_refusal_is_permanent(&imap->reply))
        return CREATE_IMPOSSIBLE;
    return exists_now(imap, name) ? CREATE_EXISTS : CREATE_ERROR;
}

void mailbox_subscribe(struct mailbox *mailbox, const char *name)
{
    struct error minor;
    char escaped_name[512], escaped_why[1024];
    if (mailbox->subscribe && !imap_command(mailbox->imap, NULL, NULL, &minor, "SUBSCRIBE %s", name))
        log_warning("mailbox %s was created, but not subscribed to: %s",
                    log_escape_field(name, escaped_name, sizeof(escaped_name)),
                    log_escape_text(minor.text, escaped_why, sizeof(escaped_why)));
}
