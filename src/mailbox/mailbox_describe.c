/* SPDX-License-Identifier: ISC
 *
 * What `check` reports about a server: the certificate it presents, even if not accepted, its capabilities, and its
 * mailboxes. A delivery needs none of this. */
#include "mailbox/mailbox_session.h"

#include <glib.h>
#include <gnutls/x509.h>
#include <libetpan/mmapstring.h>
#include <stdio.h>
#include <string.h>

static bool import(gnutls_x509_crt_t certificate, const MMAPString *der)
{
    gnutls_datum_t datum = {.data = (unsigned char *)der->str, .size = (unsigned)der->len};
    return gnutls_x509_crt_import(certificate, &datum, GNUTLS_X509_FMT_DER) >= 0;
}

/* The first certificate of the chain is the server's own; when any of them expires, the chain is invalid. */
static void note_certificate(gnutls_x509_crt_t certificate, bool first, struct mailbox_probe *ret)
{
    int64_t ends = gnutls_x509_crt_get_expiration_time(certificate);
    size_t subject = sizeof(ret->subject), issuer = sizeof(ret->issuer);
    if (first) {
        if (gnutls_x509_crt_get_dn(certificate, ret->subject, &subject) < 0)
            strcpy(ret->subject, "(no readable name)");
        if (gnutls_x509_crt_get_issuer_dn(certificate, ret->issuer, &issuer) < 0)
            strcpy(ret->issuer, "(no readable name)");
    }
    if (first || ends < ret->ends)
        ret->ends = ends;
}

static void note_chain(mailstream *stream, struct mailbox_probe *ret)
{
    carray *chain = mailstream_get_certificate_chain(stream);
    for (unsigned i = 0; chain != NULL && i < carray_count(chain); i++) {
        gnutls_x509_crt_t certificate;
        if (gnutls_x509_crt_init(&certificate) < 0)
            break;
        if (import(certificate, carray_get(chain, i))) {
            note_certificate(certificate, !ret->shown, ret);
            ret->shown = true;
        }
        gnutls_x509_crt_deinit(certificate);
    }
    mailstream_certificate_chain_free(chain);
}

static void note_handshake(void *context, mailstream *stream, bool accepted)
{
    struct mailbox_probe *probe = context;
    probe->accepted = accepted;
    note_chain(stream, probe);
}

bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct fault *fault)
{
    struct mailbox *probe OD_CLEANUP(mailbox_close) = mailbox_setup_new(config);
    const struct mailbox_watcher watcher = {.handshake = note_handshake, .context = ret};
    bool logged_in;
    *ret = (struct mailbox_probe){.shown = false};
    return mailbox_setup(probe, config, "", &watcher, &logged_in, fault) &&
           mailbox_abilities(probe, &ret->abilities, fault);
}

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

bool mailbox_abilities(struct mailbox *mailbox, struct mailbox_abilities *ret, struct fault *fault)
{
    if (!mailbox_dialogue_capabilities(mailbox, fault))
        return false;
    *ret = (struct mailbox_abilities){.uidplus = mailbox_dialogue_can(mailbox, "UIDPLUS"),
                                      .special_use = mailbox_dialogue_can(mailbox, "SPECIAL-USE")};
    char **words = g_strsplit(mailbox->capabilities != NULL ? mailbox->capabilities : "", " ", -1);
    for (char **word = words; *word != NULL; word++) {
        if (matters(*word))
            add_word(ret, *word);
    }
    g_strfreev(words);
    return true;
}

struct sought {
    const char *name; /* as sent */
    struct mailbox_folder folder;
};

static void note_folder(void *context, struct mailbox_reply *reply)
{
    struct sought *sought = context;
    struct reply_list list;
    if (!mailbox_reply_list(reply, &list) || !mailbox_folder_is_listed(&list, sought->name, false))
        return;
    sought->folder = (struct mailbox_folder){.is_sent = list.sent};
    snprintf(sought->folder.name, sizeof(sought->folder.name), "%.*s", (int)list.name_size, list.name);
}

bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL)
        return false;
    struct sought sought = {.name = quoted};
    char *pattern OD_CLEANUP(base_free) = mailbox_folder_pattern(quoted, false);
    bool by_use = mailbox_dialogue_can(mailbox, "SPECIAL-USE") && mailbox_dialogue_can(mailbox, "LIST-EXTENDED");
    snprintf(sought.folder.name, sizeof(sought.folder.name), "%s", quoted);
    if (!mailbox_dialogue_ask(mailbox, "LIST", note_folder, &sought, &reply, fault, "LIST \"\" %s%s", pattern,
                              by_use ? " RETURN (SPECIAL-USE)" : ""))
        return false;
    *ret = sought.folder;
    return true;
}
