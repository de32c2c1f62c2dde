/* SPDX-License-Identifier: ISC
 *
 * Login: SASL PLAIN (RFC 4616, with an authorisation id for master users), XOAUTH2, or LOGIN. Implemented here rather
 * than with Cyrus SASL: there are no plug-ins to find at run time, and it takes one round trip if the server has
 * SASL-IR (RFC 4959). */
#include <glib.h>
#include <string.h>

#include "imap/imap.h"

/* Whether the settings and the server allow the method. */
static bool check_method(struct imap *imap, const struct config *config, const char *login, struct fault *fault)
{
    bool by_login = config->imap.auth == IMAP_AUTH_LOGIN;
    const char *master = config->imap.master_user, *password = config->imap.password->text;
    if (*password == '\0')
        return fault_set(fault, "%s requires a login, but imap.password_file is not set", imap->where);
    if (imap_has_control(login) || imap_has_control(master) || imap_has_control(password))
        return fault_set(fault, "IMAP user, master user or password has a control character");
    if (*master != '\0' && config->imap.auth != IMAP_AUTH_PLAIN)
        return fault_set(fault, "imap.master_user works only with imap.auth=plain");
    if (!imap_capabilities(imap, fault))
        return false;
    const char *capability = config->imap.auth == IMAP_AUTH_PLAIN ? "AUTH=PLAIN" : "AUTH=XOAUTH2";
    if (imap_can(imap, by_login ? "LOGINDISABLED" : capability) != by_login)
        return true;
    if (by_login)
        return fault_set(fault, "%s forbids LOGIN (LOGINDISABLED): change imap.tls or imap.auth", imap->where);
    return fault_set(fault, "%s does not offer %s: change imap.tls or imap.auth", imap->where, capability);
}

/* The SASL initial response, in base64. */
static char *initial_response(const struct config *config, const char *login)
{
    const char *master = config->imap.master_user, *password = config->imap.password->text;
    GString *bytes = g_string_new(NULL);
    if (config->imap.auth == IMAP_AUTH_XOAUTH2)
        g_string_append_printf(bytes, "user=%s\1auth=Bearer %s\1\1", login, password);
    else if (*master != '\0')
        g_string_append_printf(bytes, "%s%c%s%c%s", login, '\0', master, '\0', password);
    else
        g_string_append_printf(bytes, "%c%s%c%s", '\0', login, '\0', password);
    char *encoded = g_base64_encode((const guchar *)bytes->str, bytes->len);
    explicit_bzero(bytes->str, bytes->len);
    g_string_free(bytes, TRUE);
    return encoded;
}

/* AUTHENTICATE up to its tagged response. With XOAUTH2 a second '+' carries the reason of a failure: after an empty line
 * as answer, the tagged NO follows. */
static bool authenticate(struct imap *imap, const char *mechanism, const char *response, struct fault *fault)
{
    bool answered = imap_can(imap, "SASL-IR");
    if (!imap_send(imap, fault, "AUTHENTICATE %s%s%s", mechanism, answered ? " " : "", answered ? response : ""))
        return false;
    while (imap_response_read(imap, fault)) {
        bool over = imap->reply.kind == REPLY_TAGGED;
        if (over && imap->reply.status == STATUS_OK && !answered) {
            fault_set(fault, "%s: AUTHENTICATE answered OK before any credential was sent", imap->where);
            imap_stream_drop(imap);
            return false;
        }
        if (over)
            return true;
        if (imap->reply.kind != REPLY_CONTINUE)
            continue;
        if (!imap_stream_line(imap, answered ? "" : response, fault))
            return false;
        answered = true;
    }
    return false;
}

/* LOGIN up to its tagged response. */
static bool send_login(struct imap *imap, const char *login, const char *password, struct fault *fault)
{
    char *user OD_CLEANUP(base_free) = imap_quote(login);
    return imap_send(imap, fault, "LOGIN %s %s", user, password) && imap_finish(imap, NULL, NULL, fault);
}

/* Sets the fault to "SAID: why". Always false. */
static bool fail_login(const struct config *config, const char *login, const char *said, const char *why,
                       const char *doubt, struct fault *fault)
{
    const char *master = config->imap.master_user;
    return fault_set(fault,
                     "IMAP login of %s%s%s %s: %s (%scheck that this account exists, imap.user, imap.master_user and"
                     " imap.password_file = %s)",
                     login, *master != '\0' ? " as master user " : "", master, said, why, doubt,
                     config->imap.password_file);
}

const char *imap_login_name(const struct config *config, const char *account)
{
    return *config->imap.user != '\0' ? config->imap.user : account;
}

bool imap_login(struct imap *imap, const struct config *config, const char *login, struct fault *fault)
{
    bool plain = config->imap.auth == IMAP_AUTH_PLAIN, by_login = config->imap.auth == IMAP_AUTH_LOGIN;
    const char *password = config->imap.password->text, *code = imap->reply.code;
    if (!check_method(imap, config, login, fault))
        return false;
    char *secret OD_CLEANUP(base_free_secret) = by_login ? imap_quote(password) : initial_response(config, login);
    int64_t started = base_now_ms();
    bool answered = by_login ? send_login(imap, login, secret, fault)
                             : authenticate(imap, plain ? "PLAIN" : "XOAUTH2", secret, fault);
    if (!answered) { /* Dovecot closes the connection for some accounts that do not exist */
        imap->refused = imap->ended || base_now_ms() - started < imap->timeout;
        if (imap->refused)
            fail_login(config, login, "not answered", fault->text, "some servers refuse a login this way: ", fault);
        return false;
    }
    imap->refused = imap->reply.status == STATUS_NO;
    imap->crowded = imap->refused &&
                    (strcmp(code, "LIMIT") == 0 || strcmp(code, "UNAVAILABLE") == 0 || strcmp(code, "INUSE") == 0);
    if (imap->reply.status != STATUS_OK) {
        const char *said = imap->reply.data;
        bool tells = strstr(said, secret) != NULL || strstr(said, password) != NULL;
        return fail_login(config, login, "refused", tells ? "(the server's words repeat the password)" : said, "",
                          fault);
    }
    if (strcmp(code, "CAPABILITY") != 0) /* what was announced before the login is no longer valid */
        base_free(&imap->capabilities);
    return true;
}
