/* SPDX-License-Identifier: ISC
 *
 * What `check` reports about a server: the certificate it presents, even if not accepted, and its capabilities; about a
 * mailbox, whether it is there, and what the login may do in it (RFC 4314). A delivery needs none of this. Nothing is
 * begun that would have to be cancelled: a proxy that keeps sessions gives them to others. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "imap/imap_setup.h"
#include "mailbox/mailbox_folder.h"
#include "mailbox/mailbox_refusal.h"

/* Whether a capability matters to a delivery. */
static bool matters(const char *word)
{
    static const char *const whole[] = {"UIDPLUS", "LITERAL+", "LITERAL-",      "SPECIAL-USE",
                                        "SASL-IR", "STARTTLS", "LOGINDISABLED", "APPENDLIMIT"};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (g_ascii_strcasecmp(word, whole[i]) == 0)
            return true;
    }
    return g_ascii_strncasecmp(word, "AUTH=", 5) == 0 || g_ascii_strncasecmp(word, "APPENDLIMIT=", 12) == 0;
}

static void add_word(struct mailbox_abilities *ret, const char *word)
{
    size_t used = strlen(ret->told);
    if (used + strlen(word) + 2 <= sizeof(ret->told))
        snprintf(ret->told + used, sizeof(ret->told) - used, "%s%s", used > 0 ? " " : "", word);
    if (g_ascii_strncasecmp(word, "APPENDLIMIT=", 12) == 0)
        ret->append_limit = g_ascii_strtoll(word + 12, NULL, 10);
}

static bool get_abilities(struct imap *imap, struct mailbox_abilities *ret, struct fault *fault)
{
    if (!imap_capabilities(imap, fault))
        return false;
    *ret =
        (struct mailbox_abilities){.uidplus = imap_can(imap, "UIDPLUS"), .special_use = imap_can(imap, "SPECIAL-USE")};
    char **words = g_strsplit(imap->capabilities, " ", -1);
    for (char **word = words; *word != NULL; word++) {
        if (matters(*word))
            add_word(ret, *word);
    }
    g_strfreev(words);
    return true;
}

bool mailbox_abilities(struct mailbox *mailbox, struct mailbox_abilities *ret, struct fault *fault)
{
    return get_abilities(mailbox->imap, ret, fault);
}

bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct fault *fault)
{
    struct imap *imap OD_CLEANUP(imap_setup_end) = imap_setup_new(config);
    bool logged_in;
    *ret = (struct mailbox_probe){.certificate.shown = false};
    return imap_setup(imap, config, "", &ret->certificate, &logged_in, fault) &&
           get_abilities(imap, &ret->abilities, fault);
}

struct sought {
    const char *name; /* as sent */
    struct mailbox_folder folder;
};

static void note_folder(void *context, struct imap_reply *reply)
{
    struct sought *sought = context;
    struct reply_list list;
    if (!imap_reply_list(reply, &list) || !mailbox_folder_is_listed(&list, sought->name, false))
        return;
    sought->folder = (struct mailbox_folder){.is_sent = list.sent};
    snprintf(sought->folder.name, sizeof(sought->folder.name), "%.*s", (int)list.name_size, list.name);
}

bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct fault *fault)
{
    struct imap_reply reply;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL)
        return false;
    struct sought sought = {.name = quoted};
    char *pattern OD_CLEANUP(base_free) = mailbox_folder_pattern(quoted, false);
    bool by_use = imap_can(mailbox->imap, "SPECIAL-USE") && imap_can(mailbox->imap, "LIST-EXTENDED");
    snprintf(sought.folder.name, sizeof(sought.folder.name), "%s", quoted);
    if (!imap_ask(mailbox->imap, "LIST", note_folder, &sought, &reply, fault, "LIST \"\" %s%s", pattern,
                  by_use ? " RETURN (SPECIAL-USE)" : ""))
        return false;
    *ret = sought.folder;
    return true;
}

/* "MYRIGHTS mailbox rights" (RFC 4314, 3.8). */
static void note_rights(void *context, struct imap_reply *reply)
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
static bool opens(struct imap *imap, const char *quoted, struct imap_reply *reply, struct fault *fault)
{
    bool can = false;
    for (int i = 0; i < 2 && !can && (i == 0 || imap->stream != NULL); i++)
        can = imap_ask(imap, "STATUS", NULL, NULL, reply, fault, "STATUS %s (UIDVALIDITY)", quoted);
    return can;
}

/* Only a lost connection is a failure. */
static bool ask_rights(struct imap *imap, const char *quoted, struct mailbox_rights *rights, struct fault *fault)
{
    struct imap_reply reply;
    return !imap_can(imap, "ACL") ||
           imap_ask(imap, "MYRIGHTS", note_rights, rights, &reply, fault, "MYRIGHTS %s", quoted) ||
           reply.status != STATUS_NONE;
}

/* A mailbox that does not open may be there nevertheless, with rights that say why. They are not asked for in one that is
 * not there: Dovecot 2.3 ends the session if there is no such user. */
static bool look_closer(struct mailbox *mailbox, const char *quoted, const struct imap_reply *reply,
                        struct mailbox_rights *rights, struct fault *fault)
{
    struct fault why;
    bool never = mailbox_refusal_is_never(reply), missing = mailbox_refusal_perhaps_missing(reply);
    bool inbox = strcasecmp(quoted, "\"INBOX\"") == 0 && !mailbox->shared;
    if (reply->status == STATUS_NONE)
        return false;
    if (!mailbox_folder_exists(mailbox->imap, quoted, &rights->exists, &why) ||
        (rights->exists && !ask_rights(mailbox->imap, quoted, rights, &why))) {
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
    struct imap_reply reply;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    *ret = (struct mailbox_rights){.known = false};
    if (quoted == NULL || !imap_capabilities(mailbox->imap, fault))
        return false;
    ret->exists = opens(mailbox->imap, quoted, &reply, fault);
    return ret->exists ? ask_rights(mailbox->imap, quoted, ret, fault)
                       : look_closer(mailbox, quoted, &reply, ret, fault);
}

bool mailbox_try_create(struct mailbox *mailbox, const char *name, bool *ret_left, struct fault *fault)
{
    struct imap_reply reply;
    struct fault minor;
    bool subscribe = mailbox->subscribe;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL)
        return false;
    mailbox->subscribe = false;
    enum mailbox_made made = mailbox_create(mailbox, quoted, fault);
    mailbox->subscribe = subscribe;
    *ret_left = made == MADE_EXISTS || (made == MADE_CREATED && !imap_ask(mailbox->imap, "DELETE", NULL, NULL, &reply,
                                                                          &minor, "DELETE %s", quoted));
    return made >= MADE_EXISTS;
}
