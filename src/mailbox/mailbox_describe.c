/* SPDX-License-Identifier: ISC
 *
 * What `check` tells of a server: the certificate it shows, also one that is not accepted; what it can do; which
 * mailboxes are there. A delivery needs none of this. */
#include "mailbox/mailbox_session.h"

#include <glib.h>
#include <gnutls/x509.h>
#include <libetpan/mailstream_socket.h>
#include <libetpan/mmapstring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

static bool import(gnutls_x509_crt_t certificate, const MMAPString *der)
{
    gnutls_datum_t datum = { .data = (unsigned char *) der->str, .size = (unsigned) der->len };
    return gnutls_x509_crt_import(certificate, &datum, GNUTLS_X509_FMT_DER) >= 0;
}

/* The first of the chain is the server's own; each that ends takes the others with it. */
static void note_certificate(gnutls_x509_crt_t certificate, bool first, struct mailbox_probe *ret)
{
    int64_t ends = gnutls_x509_crt_get_expiration_time(certificate);
    size_t subject = sizeof ret->subject, issuer = sizeof ret->issuer;
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

static bool connect_stream(struct mailbox *probe, const struct config *config, struct fault *fault)
{
    bool local;
    int fd = mailbox_connect(config, probe->where, &local, fault);
    if (fd < 0)
        return false;
    mailstream_network_delay.tv_sec = config->imap.timeout / 1000;
    mailstream_network_delay.tv_usec = config->imap.timeout % 1000 * 1000;
    if (fd < FD_SETSIZE - 8)
        probe->stream = mailstream_socket_open_timeout(fd, 0);
    if (probe->stream != NULL)
        return true;
    fault_set(fault, "%s: out of memory, or too many descriptors are open", probe->where);
    close(fd);
    return false;
}

static bool shake_hands(struct mailbox *probe, const struct config *config, struct mailbox_probe *ret,
                        struct fault *fault)
{
    ret->accepted = mailbox_tls_start(config, probe->where, probe->stream, fault);
    note_chain(probe->stream, ret);
    if (!ret->accepted)
        mailbox_dialogue_drop(probe);   /* not a word over it */
    return ret->accepted;
}

static bool greeted(struct mailbox *probe, struct fault *fault)
{
    struct mailbox_reply reply;
    probe->step = "greeting";
    if (!mailbox_dialogue_read(probe, &reply, fault))
        return false;
    if (reply.kind == REPLY_UNTAGGED && reply.status == STATUS_OK)
        return true;
    fault_set(fault, "%s: does not greet as an IMAP server that wants a login: %.200s", probe->where, probe->bytes);
    return false;
}

static bool secure(struct mailbox *probe, const struct config *config, struct mailbox_probe *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    if (!mailbox_dialogue_ask(probe, "STARTTLS", NULL, NULL, &reply, fault, "STARTTLS"))
        return false;
    base_free(&probe->capabilities);    /* told in the clear: anybody's words */
    return shake_hands(probe, config, ret, fault);
}

static bool look(struct mailbox *probe, const struct config *config, struct mailbox_probe *ret, struct fault *fault)
{
    if (!connect_stream(probe, config, fault))
        return false;
    if (config->imap.tls == IMAP_TLS_IMAPS && !shake_hands(probe, config, ret, fault))
        return false;
    if (!greeted(probe, fault))
        return false;
    if (config->imap.tls == IMAP_TLS_STARTTLS && !secure(probe, config, ret, fault))
        return false;
    return mailbox_abilities(probe, &ret->abilities, fault);
}

bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct fault *fault)
{
    OD_CLEANUP(mailbox_close) struct mailbox *probe = base_alloc(sizeof *probe);
    bool six = strchr(config->imap.host, ':') != NULL;
    *ret = (struct mailbox_probe){ .shown = false };
    probe->where = config->imap.host[0] == '/' ? base_printf("IMAP server %s", config->imap.host)
                                               : base_printf(six ? "IMAP server [%s]:%u" : "IMAP server %s:%u",
                                                             config->imap.host, mailbox_connect_port(config));
    probe->timeout = config->imap.timeout;
    probe->step = "connect";
    probe->response_max = probe->budget = MAILBOX_RESPONSE_MAX;
    return look(probe, config, ret, fault);
}

/* Whether a capability bears on a delivery. */
static bool matters(const char *word)
{
    static const char *const whole[] = { "UIDPLUS", "LITERAL+", "LITERAL-", "SPECIAL-USE", "SASL-IR", "STARTTLS",
                                         "LOGINDISABLED", "APPENDLIMIT" };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        if (g_ascii_strcasecmp(word, whole[i]) == 0)
            return true;
    }
    return g_ascii_strncasecmp(word, "AUTH=", 5) == 0 || g_ascii_strncasecmp(word, "APPENDLIMIT=", 12) == 0;
}

static void add_word(struct mailbox_abilities *ret, const char *word)
{
    size_t used = strlen(ret->told);
    if (used + strlen(word) + 2 <= sizeof ret->told)
        snprintf(ret->told + used, sizeof ret->told - used, "%s%s", used > 0 ? " " : "", word);
    if (g_ascii_strncasecmp(word, "APPENDLIMIT=", 12) == 0)
        ret->append_limit = g_ascii_strtoll(word + 12, NULL, 10);
}

bool mailbox_abilities(struct mailbox *mailbox, struct mailbox_abilities *ret, struct fault *fault)
{
    if (!mailbox_dialogue_capabilities(mailbox, fault))
        return false;
    *ret = (struct mailbox_abilities){ .uidplus = mailbox_dialogue_can(mailbox, "UIDPLUS"),
                                       .special_use = mailbox_dialogue_can(mailbox, "SPECIAL-USE") };
    char **words = g_strsplit(mailbox->capabilities != NULL ? mailbox->capabilities : "", " ", -1);
    for (char **word = words; *word != NULL; word++) {
        if (matters(*word))
            add_word(ret, *word);
    }
    g_strfreev(words);
    return true;
}

static void note_folder(void *context, struct mailbox_reply *reply)
{
    struct mailbox_folder *folder = context;
    struct reply_list list;
    if (!mailbox_reply_list(reply, &list) || !list.selectable)
        return;
    folder->exists = true;
    folder->is_sent = list.sent;
    snprintf(folder->name, sizeof folder->name, "%.*s", (int) list.name_size, list.name);
}

bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    OD_CLEANUP(base_free) char *quoted = mailbox_folder_name(mailbox, name, fault);
    struct mailbox_folder folder = { .exists = false };
    if (quoted == NULL)
        return false;
    bool by_use = mailbox_dialogue_can(mailbox, "SPECIAL-USE") && mailbox_dialogue_can(mailbox, "LIST-EXTENDED");
    snprintf(folder.name, sizeof folder.name, "%s", quoted);
    if (!mailbox_dialogue_ask(mailbox, "LIST", note_folder, &folder, &reply, fault, "LIST \"\" %s%s", quoted,
                              by_use ? " RETURN (SPECIAL-USE)" : ""))
        return false;
    *ret = folder;
    return true;
}
