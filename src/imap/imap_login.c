/* SPDX-License-Identifier: ISC
 *
 * Login: SASL PLAIN (RFC 4616, with an authorisation id for master users), XOAUTH2, or LOGIN. Implemented here rather
 * than with Cyrus SASL: there are no plug-ins to find at run time, and it takes one round trip if the server has
 * SASL-IR (RFC 4959). */
#include "imap/imap_setup.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "imap/imap.h"

struct identity {
    const char *login;  /* the owner of the mailboxes */
    const char *master; /* "": login itself authenticates */
    const char *password;
    const char *file; /* that has the password */
};

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    }
    return false;
}

bool imap_login_valid(const char *account, struct fault *fault)
{
    if (*account != '\0' && !has_control(account))
        return true;
    fault_set(fault, "IMAP account \"%s\" is empty or has a control character", account);
    return false;
}

/* Whether the settings and the server allow the method. */
static bool check_method(struct imap *imap, const struct config *config, const struct identity *identity,
                         struct fault *fault)
{
    bool login = config->imap.auth == IMAP_AUTH_LOGIN;
    if (*identity->password == '\0') {
        fault_set(fault, "%s requires a login, but imap.password_file is not set", imap->where);
        return false;
    }
    if (has_control(identity->login) || has_control(identity->master) || has_control(identity->password)) {
        fault_set(fault, "IMAP user, master user or password has a control character");
        return false;
    }
    if (*identity->master != '\0' && config->imap.auth != IMAP_AUTH_PLAIN) {
        fault_set(fault, "imap.master_user works only with imap.auth=plain");
        return false;
    }
    if (!imap_capabilities(imap, fault))
        return false;
    const char *capability = config->imap.auth == IMAP_AUTH_PLAIN ? "AUTH=PLAIN" : "AUTH=XOAUTH2";
    bool refused = imap_can(imap, login ? "LOGINDISABLED" : capability) == login;
    if (refused && login)
        fault_set(fault, "%s forbids LOGIN (LOGINDISABLED): change imap.tls or imap.auth", imap->where);
    else if (refused)
        fault_set(fault, "%s does not offer %s: change imap.tls or imap.auth", imap->where, capability);
    return !refused;
}

/* The SASL initial response, in base64. */
static char *initial_response(const struct config *config, const struct identity *identity)
{
    GString *bytes = g_string_new(NULL);
    if (config->imap.auth == IMAP_AUTH_XOAUTH2) {
        g_string_append_printf(bytes, "user=%s\1auth=Bearer %s\1\1", identity->login, identity->password);
    } else {
        bool master = *identity->master != '\0';
        g_string_append(bytes, master ? identity->login : "");
        g_string_append_c(bytes, '\0');
        g_string_append(bytes, master ? identity->master : identity->login);
        g_string_append_c(bytes, '\0');
        g_string_append(bytes, identity->password);
    }
    char *encoded = g_base64_encode((const guchar *)bytes->str, bytes->len);
    explicit_bzero(bytes->str, bytes->len);
    g_string_free(bytes, TRUE);
    return encoded;
}

/* AUTHENTICATE up to its tagged response. With XOAUTH2 a second '+' carries the reason of a failure: after an empty line
 * as answer, the tagged NO follows. */
static bool authenticate(struct imap *imap, const char *mechanism, const char *response, struct imap_reply *ret,
                         struct fault *fault)
{
    bool answered = imap_can(imap, "SASL-IR");
    if (!imap_send(imap, "AUTHENTICATE", fault, "AUTHENTICATE %s%s%s", mechanism, answered ? " " : "",
                   answered ? response : ""))
        return false;
    for (;;) {
        if (!imap_response_read(imap, ret, fault))
            return false;
        if (ret->kind == REPLY_TAGGED && ret->status == STATUS_OK && !answered) {
            fault_set(fault, "%s: AUTHENTICATE answered OK before any credential was sent", imap->where);
            imap_stream_drop(imap);
            return false;
        }
        if (ret->kind == REPLY_TAGGED)
            return true;
        if (ret->kind != REPLY_CONTINUE)
            continue;
        if (!imap_stream_line(imap, answered ? "" : response, fault))
            return false;
        answered = true;
    }
}

/* LOGIN up to its tagged response. */
static bool log_in(struct imap *imap, const struct identity *identity, const char *password, struct imap_reply *ret,
                   struct fault *fault)
{
    char *user OD_CLEANUP(base_free) = imap_quote(identity->login);
    return imap_send(imap, "LOGIN", fault, "LOGIN %s %s", user, password) && imap_finish(imap, NULL, NULL, ret, fault);
}

static void explain(const struct identity *identity, const char *said, const char *doubt, struct fault *fault)
{
    bool master = *identity->master != '\0';
    fault_set(fault,
              "IMAP login of %s%s%s %s (%scheck that this account exists, imap.user, imap.master_user and"
              " imap.password_file = %s)",
              identity->login, master ? " as master user " : "", identity->master, said, doubt, identity->file);
}

static void explain_refusal(const struct identity *identity, const char *secret, const struct imap_reply *reply,
                            struct fault *fault)
{
    const char *said = reply->data;
    if (strstr(said, secret) != NULL || strstr(said, identity->password) != NULL)
        said = "(the server's words repeat the password)";
    char *text OD_CLEANUP(base_free) = base_printf("refused: %s", said);
    explain(identity, text, "", fault);
}

/* Dovecot closes the connection for some accounts that do not exist. */
static void explain_silence(struct imap *imap, const struct identity *identity, int64_t started, struct fault *fault)
{
    imap->refused = imap->ended || base_now_ms() - started < imap->timeout;
    if (!imap->refused)
        return;
    char *text OD_CLEANUP(base_free) = base_printf("not answered: %s", fault->text);
    explain(identity, text, "some servers refuse a login this way: ", fault);
}

const char *imap_login_name(const struct config *config, const char *account)
{
    return *config->imap.user != '\0' ? config->imap.user : account;
}

bool imap_login(struct imap *imap, const struct config *config, const char *login, struct fault *fault)
{
    const struct identity identity = {
        .login = login,
        .master = config->imap.master_user,
        .password = config->imap.password->text,
        .file = config->imap.password_file,
    };
    struct imap_reply reply;
    if (!check_method(imap, config, &identity, fault))
        return false;
    bool plain = config->imap.auth == IMAP_AUTH_PLAIN, by_login = config->imap.auth == IMAP_AUTH_LOGIN;
    char *secret OD_CLEANUP(base_free_secret) = by_login ? imap_quote(identity.password)
                                                         : initial_response(config, &identity);
    int64_t started = base_now_ms();
    bool answered = by_login ? log_in(imap, &identity, secret, &reply, fault)
                             : authenticate(imap, plain ? "PLAIN" : "XOAUTH2", secret, &reply, fault);
    if (!answered) {
        explain_silence(imap, &identity, started, fault);
        return false;
    }
    imap->refused = reply.status == STATUS_NO;
    imap->crowded = reply.status == STATUS_NO &&
                    (strcmp(reply.code, "LIMIT") == 0 || strcmp(reply.code, "UNAVAILABLE") == 0 ||
                     strcmp(reply.code, "INUSE") == 0);
    if (reply.status != STATUS_OK) {
        explain_refusal(&identity, secret, &reply, fault);
        return false;
    }
    if (strcmp(reply.code, "CAPABILITY") != 0) /* what was announced before the login is no longer valid */
        base_free(&imap->capabilities);
    return true;
}
