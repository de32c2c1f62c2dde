/* SPDX-License-Identifier: ISC */
#include "mailbox/mailbox_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortest name wins: other users' and shared mailboxes have a prefix. */
static void record_sent(void *context, struct imap_reply *reply)
{
    char **sent = context;
    struct reply_list list;
    if (!imap_reply_list(reply, &list) || !list.sent || !list.selectable)
        return;
    if (*sent != NULL && strlen(*sent) <= list.name_size)
        return;
    free(*sent);
    *sent = base_strndup(list.name, list.name_size);
}

static bool lists_uses(const struct imap *imap)
{
    return imap_can(imap, "SPECIAL-USE") && imap_can(imap, "LIST-EXTENDED");
}

/* Runs once per session. If none is marked \Sent, it is the account's "Sent". */
static bool find_sent(struct mailbox *mailbox, struct error *error)
{
    struct error ignored;
    if (mailbox->sent != NULL)
        return true;
    if (!imap_capabilities(mailbox->imap, error))
        return false;
    bool reported = lists_uses(mailbox->imap) &&
                    imap_command(mailbox->imap, record_sent, &mailbox->sent, &ignored, "LIST (SPECIAL-USE) \"\" \"*\"");
    if (!reported && !imap_command(mailbox->imap, record_sent, &mailbox->sent, error, "LIST \"\" \"*\"")) {
        base_free(&mailbox->sent);
        return false;
    }
    if (mailbox->sent != NULL)
        return true;
    mailbox->sent = mailbox_namespace_name(&mailbox->namespaces, mailbox->imap, "Sent", error);
    mailbox->sent_unmarked = true;
    return mailbox->sent != NULL;
}

char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct error *error)
{
    char *encoded OD_CLEANUP(base_free) = NULL;
    char *mapped OD_CLEANUP(base_free) = NULL;
    bool by_use = strcasecmp(name, "\\Sent") == 0;
    if (by_use && !find_sent(mailbox, error))
        return NULL;
    if (!by_use && ((encoded = mailbox_name_encode(name, error)) == NULL ||
                    (mapped = mailbox_namespace_name(&mailbox->namespaces, mailbox->imap, encoded, error)) == NULL))
        return NULL;
    char *quoted = imap_quote(by_use ? mailbox->sent : mapped);
    if (quoted == NULL)
        error_set(error, "%s: a mailbox name or prefix of the server has a control character",
                  mailbox->imap->peer_name);
    return quoted;
}

/* Special in patterns, or in the regular expressions that Cyrus 3.6 makes of them, and crashes on. */
#define SPECIAL "*%{}|()[]+?^$"

/* Returns a new string: the pattern for LIST, with '*' for characters that are special there, or that a server
 * misunderstands; ascii: also for modified UTF-7. */
static char *make_pattern(const char *name, bool ascii)
{
    char *pattern = base_strdup(name), *out = pattern;
    for (const char *in = name; *in != '\0'; in++) {
        bool run = *in == '&' && in[1] != '-' && ascii; /* modified UTF-7, up to '-' */
        *out++ = run || strchr(SPECIAL, *in) != NULL ? '*' : *in;
        while (run && *in != '-' && in[1] != '"' && in[1] != '\0')
            in++;
    }
    *out = '\0';
    return pattern;
}

/* Returns true if the response to LIST means this mailbox: the pattern may match others. */
static bool is_listed(const struct reply_list *list, const char *name, bool ascii)
{
    if (!list->selectable || (strpbrk(name, SPECIAL) == NULL && !ascii))
        return list->selectable;
    char *listed OD_CLEANUP(base_free) = base_strndup(list->name, list->name_size);
    char *quoted OD_CLEANUP(base_free) = imap_quote(listed);
    return quoted != NULL && strcmp(quoted, name) == 0;
}

struct sought {
    const char *name;
    bool ascii;
    struct mailbox_folder folder;
};

static void record_listed(void *context, struct imap_reply *reply)
{
    struct sought *sought = context;
    struct reply_list list;
    if (!imap_reply_list(reply, &list) || !is_listed(&list, sought->name, sought->ascii))
        return;
    sought->folder = (struct mailbox_folder){.exists = true, .is_sent = list.sent};
    snprintf(sought->folder.name, sizeof(sought->folder.name), "%.*s", (int)list.name_size, list.name);
}

/* Courier refuses characters beyond U+FFFF, also in LIST: then asks with a wider pattern. */
static bool list_folder(struct imap *imap, const char *name, bool with_use, struct mailbox_folder *ret,
                        struct error *error)
{
    struct sought sought = {.name = name};
    bool reported = false;
    snprintf(sought.folder.name, sizeof(sought.folder.name), "%s", name);
    for (int i = 0; i < 2 && !reported; i++) {
        char *pattern OD_CLEANUP(base_free) = make_pattern(name, i > 0);
        sought.ascii = i > 0;
        reported = imap_command(imap, record_listed, &sought, error, "LIST \"\" %s%s", pattern,
                                with_use ? " RETURN (SPECIAL-USE)" : "");
        if (imap->reply.status != STATUS_NO || strchr(name, '&') == NULL)
            break;
    }
    *ret = sought.folder;
    return reported;
}

bool mailbox_folder_exists(struct imap *imap, const char *name, bool *ret_exists, struct error *error)
{
    struct mailbox_folder folder;
    bool reported = list_folder(imap, name, false, &folder, error);
    *ret_exists = folder.exists;
    return reported;
}

bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct error *error)
{
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, error);
    return quoted != NULL && list_folder(mailbox->imap, quoted, lists_uses(mailbox->imap), ret, error);
}
