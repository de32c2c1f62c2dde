/* SPDX-License-Identifier: ISC
 *
 * Parses conninfo. */
#include <string.h>

#include "mariadb/maria.h"

#define PORT_MAX 65535

static void clear_host(gpointer host)
{
    struct maria_host *it = host;
    base_free(&it->name);
}

void maria_conninfo_free(struct maria_conninfo **conninfo)
{
    struct maria_conninfo *it = *conninfo;
    if (it == NULL)
        return;
    base_free_secret(&it->password);
    base_free(&it->user);
    base_free(&it->database);
    base_free(&it->socket);
    base_free(&it->password_file);
    base_free(&it->ssl_ca);
    base_free(&it->ssl_cert);
    base_free(&it->ssl_key);
    g_array_unref(it->hosts);
    base_free(conninfo);
}

/* Returns a new string; NULL: a wrong escape, or a NUL. */
static char *decode(const char *text, size_t length)
{
    g_autofree char *decoded = g_uri_unescape_segment(text, text + length, NULL);
    return base_strdup(decoded);
}

static bool take_part(char **part, const char *text, size_t length)
{
    base_free(part);
    *part = decode(text, length);
    return *part != NULL;
}

/* USER or USER:PASSWORD, before the last @. */
static bool take_login(struct maria_conninfo *it, const char *text, size_t length, struct error *error)
{
    const char *colon = memchr(text, ':', length);
    size_t user = colon != NULL ? (size_t)(colon - text) : length;
    return (take_part(&it->user, text, user) &&
            (colon == NULL || take_part(&it->password, colon + 1, length - user - 1))) ||
           error_set(error, "database.conninfo: user or password has a %% that begins no escape");
}

static bool take_port(const char *text, size_t length, unsigned *ret, struct error *error)
{
    char *digits OD_CLEANUP(base_free) = base_strndup(text, length);
    guint64 port = 0;
    if (!g_ascii_string_to_unsigned(digits, 10, 1, PORT_MAX, &port, NULL))
        return error_set(error,
                         "database.conninfo: a port is wrong; in a password, : / ? @ and %% are written as %%3A"
                         " %%2F %%3F %%40 and %%25");
    *ret = (unsigned)port;
    return true;
}

/* HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT. */
static bool take_host(struct maria_conninfo *it, const char *text, size_t length, struct error *error)
{
    struct maria_host host = {.name = NULL};
    const char *end = text + length, *bracket = *text == '[' ? memchr(text, ']', length) : NULL;
    const char *from = bracket != NULL ? text + 1 : text;
    const char *after = bracket != NULL ? bracket + 1 : memchr(text, ':', length);
    const char *to = bracket != NULL ? bracket : after != NULL ? after : end;
    after = after != NULL ? after : end;
    host.name = decode(from, (size_t)(to - from));
    if (host.name == NULL || (after < end && *after != ':')) {
        base_free(&host.name);
        return error_set(error, "database.conninfo: a host is wrong; an address with colons stands in brackets");
    }
    if (after < end && !take_port(after + 1, (size_t)(end - after) - 1, &host.port, error)) {
        base_free(&host.name);
        return false;
    }
    if (host.name[0] == '\0' || strcmp(host.name, "localhost") == 0)
        base_free(&host.name);
    g_array_append_val(it->hosts, host);
    return true;
}

static bool take_hosts(struct maria_conninfo *it, const char *text, size_t length, struct error *error)
{
    const char *end = text + length;
    for (bool more = true; more; text++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *to = comma != NULL ? comma : end;
        if (!take_host(it, text, (size_t)(to - text), error))
            return false;
        more = comma != NULL;
        text = to;
    }
    return true;
}

/* NAME=VALUE */
static bool take_one_option(struct maria_conninfo *it, const char *text, size_t length, struct error *error)
{
    const struct {
        const char *name;
        char **value;
    } options[] = {
        {"socket", &it->socket},   {"password_file", &it->password_file},
        {"ssl_ca", &it->ssl_ca},   {"ssl_cert", &it->ssl_cert},
        {"ssl_key", &it->ssl_key},
    };
    const char *equals = memchr(text, '=', length);
    size_t name = equals != NULL ? (size_t)(equals - text) : length;
    for (size_t i = 0; equals != NULL && i < G_N_ELEMENTS(options); i++)
        if (strlen(options[i].name) == name && strncmp(text, options[i].name, name) == 0)
            return (take_part(options[i].value, equals + 1, length - name - 1) && **options[i].value == '/') ||
                   error_set(error, "database.conninfo: %s must be an absolute path", options[i].name);
    return error_set(error,
                     "database.conninfo: an option is none of MariaDB's, which are socket, password_file, ssl_ca,"
                     " ssl_cert and ssl_key; in a password, ? is written as %%3F");
}

static bool take_options(struct maria_conninfo *it, const char *text, struct error *error)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "&");
        if (!take_one_option(it, text, length, error))
            return false;
        text += length + (text[length] == '&');
    }
    return true;
}

static bool take_all(struct maria_conninfo *it, const char *text, struct error *error)
{
    size_t length = strcspn(text, "?");
    const char *at = memrchr(text, '@', length), *hosts = at != NULL ? at + 1 : text;
    if (at != NULL && !take_login(it, text, (size_t)(at - text), error))
        return false;
    size_t left = length - (size_t)(hosts - text), host = strcspn(hosts, "/?");
    if (!take_hosts(it, hosts, host, error))
        return false;
    if (host + 1 < left && !take_part(&it->database, hosts + host + 1, left - host - 1))
        return error_set(error, "database.conninfo: the database has a %% that begins no escape");
    return text[length] == '\0' || take_options(it, text + length + 1, error);
}

struct maria_conninfo *maria_conninfo_new(const char *conninfo, struct error *error)
{
    struct maria_conninfo *it = base_alloc(sizeof(*it));
    const char *text = strstr(conninfo, "://");
    it->hosts = g_array_new(FALSE, FALSE, sizeof(struct maria_host));
    g_array_set_clear_func(it->hosts, clear_host);
    it->database = base_strdup("oncedrop");
    if (text == NULL || !take_all(it, text + strlen("://"), error))
        maria_conninfo_free(&it);
    return it;
}

bool maria_is_local(const struct maria_host *host)
{
    return host->name == NULL || network_is_loopback_text(host->name);
}

static char *with_host(const char *conninfo, const struct maria_host *host)
{
    const char *text = strstr(conninfo, "://") + strlen("://");
    const char *at = memrchr(text, '@', strcspn(text, "?")), *hosts = at != NULL ? at + 1 : text;
    bool brackets = host->name != NULL && strchr(host->name, ':') != NULL;
    GString *one = g_string_new_len(conninfo, hosts - conninfo);
    g_string_append_printf(one, "%s%s%s", brackets ? "[" : "", host->name != NULL ? host->name : "localhost",
                           brackets ? "]" : "");
    if (host->port != 0)
        g_string_append_printf(one, ":%u", host->port);
    g_string_append(one, hosts + strcspn(hosts, "/?"));
    return g_string_free(one, FALSE);
}

char *maria_nth_host(const struct config *config, size_t n, char **ret_name)
{
    struct error ignored;
    struct maria_conninfo *it OD_CLEANUP(maria_conninfo_free) = maria_conninfo_new(config->database.conninfo, &ignored);
    if (it == NULL || n >= it->hosts->len)
        return NULL;
    const struct maria_host *host = &g_array_index(it->hosts, struct maria_host, n);
    if (ret_name != NULL)
        *ret_name = host->port != 0
                        ? base_printf("host %s port %u", host->name != NULL ? host->name : "localhost", host->port)
                        : base_printf("host %s", host->name != NULL ? host->name : "localhost");
    return with_host(config->database.conninfo, host);
}

bool maria_login_is_service(const struct config *config)
{
    struct error ignored;
    struct maria_conninfo *it OD_CLEANUP(maria_conninfo_free) = maria_conninfo_new(config->database.conninfo, &ignored);
    return it == NULL || it->user == NULL || strcmp(it->user, config->service.user) == 0;
}
