/* SPDX-License-Identifier: ISC
 *
 * For `check`. Starts nothing that would have to be cancelled: a proxy may reuse sessions for others. */
#include <stdio.h>
#include <string.h>

#include "mailbox/mailbox_internal.h"

#define MATTERS "^(UIDPLUS|LITERAL[+-]|SPECIAL-USE|SASL-IR|STARTTLS|LOGINDISABLED|APPENDLIMIT(=.*)?|AUTH=.*)$"

static void add_word(struct mailbox_capabilities *ret, const char *word)
{
    size_t used = strlen(ret->reported);
    if (used + strlen(word) + 2 <= sizeof(ret->reported))
        snprintf(ret->reported + used, sizeof(ret->reported) - used, "%s%s", used > 0 ? " " : "", word);
    if (g_ascii_strncasecmp(word, "APPENDLIMIT=", 12) == 0)
        ret->append_limit = g_ascii_strtoll(word + 12, NULL, 10);
}

static bool get_capabilities(struct imap *imap, struct mailbox_capabilities *ret, struct error *error)
{
    if (!imap_capabilities(imap, error))
        return false;
    *ret = (struct mailbox_capabilities){.uidplus = imap_can(imap, "UIDPLUS"),
                                         .special_use = imap_can(imap, "SPECIAL-USE")};
    g_auto(GStrv) words = g_strsplit(imap->capabilities, " ", -1);
    for (char **word = words; *word != NULL; word++)
        if (g_regex_match_simple(MATTERS, *word, G_REGEX_CASELESS | G_REGEX_RAW | G_REGEX_DOTALL, 0))
            add_word(ret, *word);
    return true;
}

bool mailbox_capabilities(struct mailbox *mailbox, struct mailbox_capabilities *ret, struct error *error)
{
    return get_capabilities(mailbox->imap, ret, error);
}

bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct error *error)
{
    struct imap *imap OD_CLEANUP(imap_setup_end) = imap_setup_new(config);
    *ret = (struct mailbox_probe){.certificate.shown = false};
    bool done = imap_setup_connect(imap, config, "", error) && imap_setup_greet(imap, config, error) &&
                get_capabilities(imap, &ret->capabilities, error);
    ret->certificate = imap->certificate;
    return done;
}

/* RFC 4314, 3.8 */
static void record_rights(void *context, struct imap_reply *reply)
{
    struct mailbox_rights *rights = context;
    if (strncasecmp(reply->data, "MYRIGHTS ", 9) != 0)
        return;
    const char *last = strrchr(reply->data, ' ');
    rights->known = true;
    snprintf(rights->granted, sizeof(rights->granted), "%s", last + 1);
}

/* Tries twice: Dovecot lists a shared mailbox only after its first use, and creates an inbox then. */
static bool opens(struct imap *imap, const char *quoted, struct error *error)
{
    bool can = false;
    for (int i = 0; i < 2 && !can && (i == 0 || imap->stream != NULL); i++)
        can = imap_command(imap, NULL, NULL, error, "STATUS %s (UIDVALIDITY)", quoted);
    return can;
}

/* Fails only if the connection is lost. */
static bool ask_rights(struct imap *imap, const char *quoted, struct mailbox_rights *rights, struct error *error)
{
    return !imap_can(imap, "ACL") || imap_command(imap, record_rights, rights, error, "MYRIGHTS %s", quoted) ||
           imap->reply.status != STATUS_NONE;
}

/* A mailbox that does not open may exist, with rights that say why. Does not ask for rights in a missing one: Dovecot
 * 2.3 ends the session of a nonexistent user. */
static bool examine_rights(struct mailbox *mailbox, const char *quoted, struct mailbox_rights *rights,
                           struct error *error)
{
    const struct imap_reply *reply = &mailbox->imap->reply;
    struct error why;
    bool impossible = mailbox_refusal_is_permanent(reply), missing = mailbox_refusal_maybe_missing(reply);
    bool inbox = strcasecmp(quoted, "\"INBOX\"") == 0 && !mailbox->shared;
    if (reply->status == STATUS_NONE)
        return false;
    if (!mailbox_folder_exists(mailbox->imap, quoted, &rights->exists, &why) ||
        (rights->exists && !ask_rights(mailbox->imap, quoted, rights, &why))) {
        *error = why;
        return false;
    }
    if (missing && inbox && !rights->known) {
        (void)!mailbox_create(mailbox, quoted, NULL, error); /* sets the error; creates no INBOX */
        return false;
    }
    return rights->known || (!rights->exists && !impossible);
}

bool mailbox_rights(struct mailbox *mailbox, const char *name, struct mailbox_rights *ret, struct error *error)
{
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, error);
    *ret = (struct mailbox_rights){.known = false};
    if (quoted == NULL || !imap_capabilities(mailbox->imap, error))
        return false;
    ret->exists = opens(mailbox->imap, quoted, error);
    return ret->exists ? ask_rights(mailbox->imap, quoted, ret, error) : examine_rights(mailbox, quoted, ret, error);
}

bool mailbox_try_create(struct mailbox *mailbox, const char *name, bool *ret_left, struct error *error)
{
    struct error minor;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, error);
    if (quoted == NULL)
        return false;
    enum mailbox_created created = mailbox_create(mailbox, quoted, NULL, error);
    *ret_left = created == CREATE_EXISTS ||
                (created == CREATE_DONE && !imap_command(mailbox->imap, NULL, NULL, &minor, "DELETE %s", quoted));
    return created >= CREATE_EXISTS;
}
