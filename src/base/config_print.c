/* SPDX-License-Identifier: ISC
 *
 * Settings as text, a connection string without its password, and a digest. When in doubt, more is hidden rather than
 * less. */
#include "base/config_table.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>

static const char blanks[] = " \t\n\r\f\v";
static const char hidden[] = "***";

/* password, sslpassword, and anything a later libpq may treat as a secret. A name with escapes may be any of them. */
static bool is_secret_name(const char *name, size_t length)
{
    g_autofree char *lower = g_ascii_strdown(name, (gssize)length);

    return strstr(lower, "password") || strstr(lower, "secret") || strchr(lower, '%');
}

/* postgresql://user:password@host/database?name=value&... */
static char *hide_in_uri(const char *uri)
{
    GString *shown = g_string_new(NULL);
    const char *rest = strstr(uri, "://") + 3;
    const char *at = strrchr(rest, '@');
    const char *colon = at ? memchr(rest, ':', (size_t)(at - rest)) : NULL;

    g_string_append_len(shown, uri, rest - uri);
    if (colon) {
        g_string_append_len(shown, rest, colon + 1 - rest);
        g_string_append(shown, hidden);
        rest = at;
    }
    size_t head = strcspn(rest, "?");
    g_string_append_len(shown, rest, (gssize)head);
    for (rest += head; *rest;) {
        g_string_append_c(shown, *rest++);
        size_t length = strcspn(rest, "&");
        size_t name = strcspn(rest, "=&");
        bool secret = name < length && is_secret_name(rest, name);
        g_string_append_len(shown, rest, (gssize)(secret ? name + 1 : length));
        g_string_append(shown, secret ? hidden : "");
        rest += length;
    }
    return g_string_free(shown, FALSE);
}

/* Returns the end of the value: '...' with \ before ' and \, or everything up to a blank. */
static const char *skip_value(const char *value)
{
    bool quoted = *value == '\'';

    for (value += quoted; *value; value++) {
        if (*value == '\\' && value[1])
            value++;
        else if (quoted && *value == '\'')
            return value + 1;
        else if (!quoted && strchr(blanks, *value))
            return value;
    }
    return quoted ? NULL : value;
}

/* name=value name = 'value' ...; NULL if the text does not have that form. */
static char *hide_in_pairs(const char *pairs)
{
    g_autoptr(GString) shown = g_string_new(NULL);

    for (pairs += strspn(pairs, blanks); *pairs; pairs += strspn(pairs, blanks)) {
        const char *name = pairs;
        size_t length = strcspn(name, " \t\n\r\f\v=");
        const char *value = name + length + strspn(name + length, blanks);
        if (*value++ != '=')
            return NULL;
        value += strspn(value, blanks);
        const char *end = skip_value(value);
        if (!end)
            return NULL;
        g_string_append_printf(shown, "%s%.*s=", shown->len > 0 ? " " : "", (int)length, name);
        if (is_secret_name(name, length))
            g_string_append(shown, hidden);
        else
            g_string_append_len(shown, value, end - value);
        pairs = end;
    }
    return g_strdup(shown->str);
}

static char *hide_secrets(const char *conninfo)
{
    if (g_str_has_prefix(conninfo, "postgresql://") || g_str_has_prefix(conninfo, "postgres://"))
        return hide_in_uri(conninfo);
    char *shown = hide_in_pairs(conninfo);
    return shown ? shown : base_strdup(hidden);
}

void config_print(FILE *out, const struct config *config, enum config_print which)
{
    for (const struct setting *setting = config_table; setting->group; setting++) {
        char *value OD_CLEANUP(base_free) = which == CONFIG_PRINT_DEFAULTS ? base_strdup(setting->text)
                                                                           : config_value_text(config, setting);
        if (which == CONFIG_PRINT_NON_DEFAULT && strcmp(value, setting->text) == 0)
            continue;
        if (setting->flags & SETTING_SECRET) {
            char *shown = hide_secrets(value);
            base_free(&value);
            value = shown;
        }
        fprintf(out, "%s.%s =%s%s\n", setting->group, setting->name, *value ? " " : "", value);
    }
}

char *config_digest(const struct config *config)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (const struct setting *setting = config_table; setting->group != NULL; setting++) {
        char *value OD_CLEANUP(base_free) = config_value_text(config, setting);
        if (setting->offset != offsetof(struct config, imap.password_file))
            g_checksum_update(sum, (const guchar *)value, (gssize)strlen(value) + 1);
    }
    g_checksum_update(sum, (const guchar *)config->imap.password->text, -1);
    return base_strdup(g_checksum_get_string(sum));
}
