/* SPDX-License-Identifier: ISC
 *
 * Mailboxes on the server: their names, whether they exist, and creating them. */
#include "mailbox/mailbox_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* The shortest name wins: other users' and shared mailboxes are below a prefix. */
static void note_sent(void *context, struct mailbox_reply *reply)
{
    char **sent = context;
    struct reply_list list;
    if (!mailbox_reply_list(reply, &list) || !list.sent || !list.selectable)
        return;
    if (*sent != NULL && strlen(*sent) <= list.name_size)
        return;
    free(*sent);
    *sent = base_strndup(list.name, list.name_size);
}

/* Finds the mailbox with the attribute \Sent, once per session; "Sent" if there is none. */
static bool find_sent(struct mailbox *mailbox, struct fault *fault)
{
    struct mailbox_reply reply;
    if (mailbox->sent != NULL)
        return true;
    if (!mailbox_dialogue_capabilities(mailbox, fault))
        return false;
    bool by_use = mailbox_dialogue_can(mailbox, "SPECIAL-USE") && mailbox_dialogue_can(mailbox, "LIST-EXTENDED");
    struct fault ignored;
    bool told = by_use && mailbox_dialogue_ask(mailbox, "LIST", note_sent, &mailbox->sent, &reply, &ignored,
                                               "LIST (SPECIAL-USE) \"\" \"*\"");
    if (!told && !mailbox_dialogue_ask(mailbox, "LIST", note_sent, &mailbox->sent, &reply, fault, "LIST \"\" \"*\"")) {
        base_free(&mailbox->sent);
        return false;
    }
    if (mailbox->sent == NULL)
        mailbox->sent = base_strdup("Sent");
    return true;
}

bool mailbox_folder_known(const struct mailbox *mailbox, const char *name)
{
    return strcasecmp(name, "\\Sent") != 0 || mailbox->sent != NULL;
}

char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    char *encoded OD_CLEANUP(base_free) = NULL;
    bool by_use = strcasecmp(name, "\\Sent") == 0;
    if (by_use && !find_sent(mailbox, fault))
        return NULL;
    if (!by_use && (encoded = mailbox_name_encode(name, fault)) == NULL)
        return NULL;
    char *quoted = mailbox_dialogue_quote(by_use ? mailbox->sent : encoded);
    if (quoted == NULL)
        fault_set(fault, "%s: the name of the Sent mailbox has a control character", mailbox->where);
    return quoted;
}

static void warn_unsubscribed(const char *name, const char *why)
{
    char escaped_name[512], escaped_why[1024];
    log_warning("mailbox %s was created, but not subscribed to: %s",
                log_escape_field(name, escaped_name, sizeof(escaped_name)),
                log_escape_text(why, escaped_why, sizeof(escaped_why)));
}

/* An account without INBOX does not exist, or is not what we think it is: nothing is created in it. */
static bool has_inbox(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    static const char remedy[] =
        "does the account exist on the server? (Dovecot's ACL plugin hides it from a master user:"
        " set acl_user = %u)";
    struct mailbox_reply reply;
    struct fault minor;
    if (strcasecmp(name, "\"INBOX\"") != 0 &&
        (mailbox_dialogue_ask(mailbox, "STATUS", NULL, NULL, &reply, &minor, "STATUS \"INBOX\" (UIDVALIDITY)") ||
         reply.status == STATUS_BAD))
        return true;
    if (mailbox->stream == NULL)
        *fault = minor;
    else
        fault_set(fault, "%s: the account has no INBOX, and oncedrop never creates one: %s", mailbox->where, remedy);
    return false;
}

bool mailbox_folder_create(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    struct mailbox_reply reply;
    struct fault minor;
    if (!has_inbox(mailbox, name, fault))
        return false;
    if (!mailbox->create) {
        fault_set(fault, "%s: mailbox %s does not exist and imap.create is off", mailbox->where, name);
        return false;
    }
    if (!mailbox_dialogue_ask(mailbox, "CREATE", NULL, NULL, &reply, fault, "CREATE %s", name) &&
        strcmp(reply.code, "ALREADYEXISTS") != 0)
        return false;
    if (mailbox->subscribe &&
        !mailbox_dialogue_ask(mailbox, "SUBSCRIBE", NULL, NULL, &reply, &minor, "SUBSCRIBE %s", name))
        warn_unsubscribed(name, minor.text);
    return true;
}

static void note_exists(void *context, struct mailbox_reply *reply)
{
    bool *exists = context;
    struct reply_list list;
    if (mailbox_reply_list(reply, &list) && list.selectable)
        *exists = true;
}

bool mailbox_folder_exists(struct mailbox *mailbox, const char *name, bool *ret_exists, struct fault *fault)
{
    struct mailbox_reply reply;
    bool exists = false;
    if (!mailbox_dialogue_ask(mailbox, "LIST", note_exists, &exists, &reply, fault, "LIST \"\" %s", name))
        return false;
    *ret_exists = exists;
    return true;
}
