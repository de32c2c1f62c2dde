/* SPDX-License-Identifier: ISC
 *
 * Makes a mailbox, and finds out why that is impossible. */
#include "mailbox/mailbox_session.h"

#include <string.h>

#include "base/log.h"

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
    if (mailbox_folder_exists(mailbox, "\"INBOX\"", &listed, &minor) && listed)
        fault_set(fault,
                  "%s: the server lists the account's INBOX, but does not let this login use it: has the master user"
                  " rights there? (Dovecot's ACL plugin: set acl_user = %s)",
                  mailbox->where, "%u, in 2.4 acl_user = %{user}");
    else
        fault_set(fault,
                  "%s: the account has no INBOX, and oncedrop never creates one: does the account exist on the server?",
                  mailbox->where);
}

/* The same where one login opens everybody's mailboxes: the owner must have an inbox, and we rights there. */
static bool has_home(struct mailbox *mailbox, const char *home, const char *name, struct fault *fault)
{
    struct mailbox_reply reply;
    if (home == NULL)
        fault_set(fault, "%s: mailbox %s does not exist, and is not created as its owner is unknown", mailbox->where,
                  name);
    return home != NULL &&
           mailbox_dialogue_ask(mailbox, "STATUS", NULL, NULL, &reply, fault, "STATUS %s (UIDVALIDITY)", home);
}

/* An account without INBOX does not exist, or is not what we think it is: nothing is created in it. */
static bool has_inbox(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    struct mailbox_reply reply;
    struct fault minor;
    bool asked = strcasecmp(name, "\"INBOX\"") != 0;
    if (asked &&
        (mailbox_dialogue_ask(mailbox, "STATUS", NULL, NULL, &reply, &minor, "STATUS \"INBOX\" (UIDVALIDITY)") ||
         reply.status == STATUS_BAD))
        return true;
    if (asked && (mailbox->stream == NULL || !mailbox_refusal_perhaps_missing(&reply)))
        *fault = minor;
    else
        explain_no_inbox(mailbox, fault);
    return false;
}

/* With the special use, if it is for \Sent and the server can do that (RFC 6154, 3), so that mail programs find it. */
static bool ask_create(struct mailbox *mailbox, const char *name, struct mailbox_reply *reply, struct fault *fault)
{
    char *sent OD_CLEANUP(base_free) = mailbox->sent_unmarked ? mailbox_dialogue_quote(mailbox->sent) : NULL;
    if (sent != NULL && strcmp(sent, name) == 0 && mailbox_dialogue_can(mailbox, "CREATE-SPECIAL-USE")) {
        if (mailbox_dialogue_ask(mailbox, "CREATE", NULL, NULL, reply, fault, "CREATE %s (USE (\\Sent))", name))
            return true;
        if (strcmp(reply->code, "USEATTR") != 0)
            return false;
    }
    return mailbox_dialogue_ask(mailbox, "CREATE", NULL, NULL, reply, fault, "CREATE %s", name);
}

/* Some servers have no code for a mailbox that exists. */
static bool exists_now(struct mailbox *mailbox, const char *name, const struct mailbox_reply *reply)
{
    struct fault minor;
    bool exists;
    if (strcmp(reply->code, "ALREADYEXISTS") == 0)
        return true;
    return reply->status == STATUS_NO && reply->code[0] == '\0' &&
           mailbox_folder_exists(mailbox, name, &exists, &minor) && exists;
}

/* Also if another delivery was faster with CREATE: it may not get as far as this. */
static void subscribe(struct mailbox *mailbox, const char *name)
{
    struct mailbox_reply reply;
    struct fault minor;
    if (mailbox->subscribe &&
        !mailbox_dialogue_ask(mailbox, "SUBSCRIBE", NULL, NULL, &reply, &minor, "SUBSCRIBE %s", name))
        warn_unsubscribed(name, minor.text);
}

enum mailbox_made mailbox_create(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    struct mailbox_reply reply;
    const char *owners = mailbox->appending.append.home;
    char *home OD_CLEANUP(base_free) = mailbox->shared && owners != NULL ? mailbox_folder_name(mailbox, owners, fault)
                                                                         : NULL;
    if (home != NULL && strcmp(home, name) == 0)
        return MADE_EXISTS;
    if (mailbox->shared ? !has_home(mailbox, home, name, fault) : !has_inbox(mailbox, name, fault))
        return MADE_TROUBLE;
    if (!mailbox->create) {
        fault_set(fault, "%s: mailbox %s does not exist and imap.create is off", mailbox->where, name);
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

bool mailbox_try_create(struct mailbox *mailbox, const char *name, bool *ret_left, struct fault *fault)
{
    struct mailbox_reply reply;
    struct fault minor;
    bool subscribe = mailbox->subscribe;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL)
        return false;
    mailbox->subscribe = false;
    enum mailbox_made made = mailbox_create(mailbox, quoted, fault);
    mailbox->subscribe = subscribe;
    *ret_left = made == MADE_EXISTS ||
                (made == MADE_CREATED &&
                 !mailbox_dialogue_ask(mailbox, "DELETE", NULL, NULL, &reply, &minor, "DELETE %s", quoted));
    return made >= MADE_EXISTS;
}
