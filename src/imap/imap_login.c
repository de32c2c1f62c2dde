/* SPDX-License-Identifier: ISC
 *
 * SASL PLAIN (RFC 4616), OAUTHBEARER (RFC 7628), XOAUTH2, or the command LOGIN, with SASL-IR (RFC 4959). Without Cyrus
 * SASL, which needs plug-ins. */
#include <glib.h>
#include <string.h>

#include "imap/imap.h"

/* mechanism: NULL: the command LOGIN. end: the reply to a failure's reason, before NO. */
static const struct {
    const char *mechanism, *end;
} methods[] = {
    [IMAP_AUTH_PLAIN] = {"PLAIN", ""},
    [IMAP_AUTH_LOGIN] = {NULL, ""},
    [IMAP_AUTH_XOAUTH2] = {"XOAUTH2", ""},
    [IMAP_AUTH_OAUTHBEARER] = {"OAUTHBEARER", "AQ=="}, /* RFC 7628, 3.2.3 */
};

static bool uses_login_command(const struct config *config)
{
    return methods[config->imap.auth].mechanism == NULL;
}

static bool check_credentials(const struct config *config, const char *peer_name, const char *login,
                              const char *password, struct error *error)
{
    const char *master = config->imap.master_user;
    if (*password == '\0')
        return error_set(error, "%s requires a login, but neither imap.password_file nor imap.password_command is set",
                         peer_name);
    if (imap_has_control(login) || imap_has_control(master) || imap_has_control(password))
        return error_set(error, "%s: login name, imap.master_user or password has a control character", peer_name);
    return *master == '\0' || config->imap.auth == IMAP_AUTH_PLAIN ||
           error_set(error, "imap.master_user works only with imap.auth = plain");
}

static bool check_offer(struct imap *imap, const struct config *config, struct error *error)
{
    if (!imap_capabilities(imap, error))
        return false;
    bool login = uses_login_command(config);
    char *capability OD_CLEANUP(base_free) = base_printf("AUTH=%s", login ? "" : methods[config->imap.auth].mechanism);
    if (imap_can(imap, login ? "LOGINDISABLED" : capability) != login)
        return true;
    return error_set(error, "%s does not offer %s: change imap.tls or imap.auth", imap->peer_name,
                     login ? "LOGIN (it says LOGINDISABLED)" : capability);
}

/* RFC 5801, 4. */
static void append_saslname(GString *bytes, const char *name)
{
    for (; *name != '\0'; name++)
        if (*name == ',' || *name == '=')
            g_string_append(bytes, *name == ',' ? "=2C" : "=3D");
        else
            g_string_append_c(bytes, *name);
}

/* Returns the SASL initial response in base64. */
static char *initial_response(const struct config *config, const char *login, const char *password)
{
    const char *master = config->imap.master_user;
    GString *bytes = g_string_new(NULL);
    if (config->imap.auth == IMAP_AUTH_OAUTHBEARER) {
        g_string_append(bytes, "n,a=");
        append_saslname(bytes, login);
        g_string_append_printf(bytes, ",\1auth=Bearer %s\1\1", password);
    } else if (config->imap.auth == IMAP_AUTH_XOAUTH2)
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

static bool sends_initial_response(const struct imap *imap, const struct config *config)
{
    return config->imap.early_login || imap_can(imap, "SASL-IR");
}

static bool send_login(struct imap *imap, const struct config *config, const char *login, const char *secret,
                       struct error *error)
{
    bool initial = sends_initial_response(imap, config);
    if (!uses_login_command(config))
        return imap_send(imap, error, "AUTHENTICATE %s%s%s", methods[config->imap.auth].mechanism, initial ? " " : "",
                         initial ? secret : "");
    char *user OD_CLEANUP(base_free) = imap_quote(login);
    return imap_send(imap, error, "LOGIN %s %s", user, secret);
}

/* Reads up to the tagged response. After a bad token a second '+' may bring *ret_reason, in base64, before NO. */
static bool finish_authenticate(struct imap *imap, const struct config *config, const char *response, char **ret_reason,
                                struct error *error)
{
    bool sent = sends_initial_response(imap, config);
    /* without SASL-IR the server ignores an initial response, and asks for it by '+' */
    bool replied = sent && (imap->capabilities == NULL || imap_can(imap, "SASL-IR"));
    while (imap_response_read(imap, error)) {
        bool over = imap->reply.kind == REPLY_TAGGED;
        if (over && imap->reply.status == STATUS_OK && !replied && !sent) {
            error_set(error, "%s: AUTHENTICATE answered OK before any credential was sent", imap->peer_name);
            imap_stream_drop(imap);
            return false;
        }
        if (over)
            return true;
        if (imap->reply.kind != REPLY_CONTINUE)
            continue;
        if (replied && *ret_reason == NULL)
            *ret_reason = base_strdup(imap->reply.data);
        if (!imap_stream_line(imap, replied ? methods[config->imap.auth].end : response, error))
            return false;
        replied = true;
    }
    return false;
}

#define REPEATED "(the server's words repeat the password)"

struct attempt {
    const struct config *config;
    const char *login, *password, *secret;
};

static bool fail_login(const struct attempt *it, const char *said, const char *why, const char *doubt,
                       struct error *error)
{
    const char *master = it->config->imap.master_user, *file = it->config->imap.password_file;
    return error_set(error,
                     "IMAP login of %s%s%s %s: %s (%scheck that this account exists, imap.user, imap.master_user and"
                     " imap.password_%s%s)",
                     it->login, *master != '\0' ? " as master user " : "", master, said, why, doubt,
                     *file != '\0' ? "file = " : "command", file);
}

static bool repeats_secret(const struct attempt *it, const char *words)
{
    return strstr(words, it->secret) != NULL || strstr(words, it->password) != NULL;
}

/* Omits the server's text if it repeats credentials. */
static bool fail_refused(const struct attempt *it, const struct imap *imap, const char *reason, struct error *error)
{
    gsize size = 0;
    g_autofree char *decoded = reason != NULL ? (char *)g_base64_decode(reason, &size) : NULL;
    char *text OD_CLEANUP(base_free) =
        base_printf("%s%s%.*s", imap->reply.data, size > 0 ? " " : "", (int)size, size > 0 ? decoded : "");
    return fail_login(it, "refused", repeats_secret(it, text) ? REPEATED : text,
                      it->config->imap.early_login && !uses_login_command(it->config) &&
                              imap->reply.status == STATUS_BAD
                          ? "imap.early_login is for servers with SASL-IR: "
                          : "",
                      error);
}

const char *imap_login_name(const struct config *config, const char *account)
{
    return *config->imap.user != '\0' ? config->imap.user : account;
}

bool imap_login_is_early(const struct config *config, const char *login, const char *password)
{
    struct error ignored;
    return config->imap.early_login && *config->imap.command == '\0' && config->imap.tls != IMAP_TLS_STARTTLS &&
           check_credentials(config, "", login, password, &ignored);
}

static bool fail_greeting(const struct attempt *it, struct error *error)
{
    if (repeats_secret(it, error->text))
        error_set(error, "no greeting of an IMAP server " REPEATED);
    error_prefix(error, "with imap.early_login");
    return false;
}

/* Returns true once there is a tagged response. */
static bool log_in(struct imap *imap, const struct attempt *it, char **ret_reason, struct error *error)
{
    if (!send_login(imap, it->config, it->login, it->secret, error))
        return false;
    if (!imap->ready && !imap_setup_greet(imap, it->config, error))
        return fail_greeting(it, error);
    imap->step = imap->command;
    return uses_login_command(it->config) ? imap_finish(imap, NULL, NULL, error)
                                          : finish_authenticate(imap, it->config, it->secret, ret_reason, error);
}

bool imap_login(struct imap *imap, const struct config *config, const char *login, const char *password,
                struct error *error)
{
    const char *code = imap->reply.code;
    if (!check_credentials(config, imap->peer_name, login, password, error) ||
        (!config->imap.early_login && !check_offer(imap, config, error)))
        return false;
    char *secret OD_CLEANUP(base_free_secret) = uses_login_command(config) ? imap_quote(password)
                                                                           : initial_response(config, login, password);
    char *reason OD_CLEANUP(base_free) = NULL;
    const struct attempt attempt = {config, login, password, secret};
    int64_t started = base_now_ms();
    imap->debug.password = password;
    imap->debug.secret = secret;
    bool replied = log_in(imap, &attempt, &reason, error);
    imap->debug.password = imap->debug.secret = NULL;
    if (!replied && !imap->ready)
        return false;
    if (!replied) { /* as Dovecot does for some nonexistent accounts */
        imap->refused = imap->ended || base_now_ms() - started < imap->timeout;
        if (imap->refused)
            fail_login(&attempt, "not answered", repeats_secret(&attempt, error->text) ? REPEATED : error->text,
                       "some servers refuse a login this way: ", error);
        return false;
    }
    bool unchecked = imap->reply.status != STATUS_OK && config->imap.early_login && imap->capabilities != NULL;
    if (unchecked && !check_offer(imap, config, error)) /* the greeting shows that this method is impossible */
        return false;
    imap->refused = imap->reply.status == STATUS_NO;
    imap->too_many_sessions =
        imap->refused && (strcmp(code, "LIMIT") == 0 || strcmp(code, "UNAVAILABLE") == 0 || strcmp(code, "INUSE") == 0);
    if (imap->reply.status != STATUS_OK)
        return fail_refused(&attempt, imap, reason, error);
    if (strcmp(code, "CAPABILITY") != 0) /* earlier capabilities are invalid now */
        base_free(&imap->capabilities);
    return true;
}
