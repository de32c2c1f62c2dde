/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <string.h>

#define QUOTED "'(?:[^'\\\\]|\\\\.)*+'"

/* Hides a URI's password, up to the last @, and values whose name has "password", "secret" or an escape, which may
 * encode any name. Other text becomes "***", except a file's path. */
char *config_conninfo_shown(const char *conninfo)
{
    static const char uri[] = "^(?:postgres(?:ql)?|mariadb|mysql)://";
    static const char pairs[] = "^\\s*(?:[^\\s=]+\\s*=\\s*(?:" QUOTED "|(?!')(?:[^\\s\\\\]|\\\\.)*+)\\s*)*+$";
    static const char user[] = "^([^:]*://[^:]*:).*@";
    static const char secret[] = "((?:password|secret|%)[^\\s?&=]*\\s*=\\s*)(?:" QUOTED "|(?:[^\\s&\\\\]|\\\\.)*+)";
    const GRegexCompileFlags flags = G_REGEX_RAW | G_REGEX_CASELESS | G_REGEX_DOTALL;
    if (strncmp(conninfo, CONFIG_SQLITE, strlen(CONFIG_SQLITE)) == 0)
        return base_strdup(conninfo);
    if (!g_regex_match_simple(uri, conninfo, flags, 0) && !g_regex_match_simple(pairs, conninfo, flags, 0))
        return base_strdup("***");
    g_autoptr(GRegex) login = g_regex_new(user, flags, 0, NULL), names = g_regex_new(secret, flags, 0, NULL);
    g_autofree char *shown = g_regex_replace(login, conninfo, -1, 0, "\\1***@", 0, NULL);
    char *all = shown != NULL ? g_regex_replace(names, shown, -1, 0, "\\1***", 0, NULL) : NULL;
    return all != NULL ? all : base_strdup("***"); /* NULL: the regex match limit */
}

/* Passes settings of [GROUP NAME] that differ from those of [GROUP]. */
static void visit_named(const struct config *config, const struct config *named,
                        void (*take)(void *context, const char *name, const char *value), void *context)
{
    for (const struct setting *setting = config_table; setting->group != NULL; setting++) {
        char *first OD_CLEANUP(base_free) = config_value_text(config, setting);
        char *value OD_CLEANUP(base_free) = config_value_text(named, setting);
        char *name OD_CLEANUP(base_free) = base_printf("%s %s.%s", setting->group, named->name, setting->name);
        if (strcmp(first, value) != 0)
            take(context, name, value);
    }
}

void config_visit(const struct config *config, enum config_print which,
                  void (*take)(void *context, const char *name, const char *value), void *context)
{
    for (const struct setting *setting = config_table; setting->group != NULL; setting++) {
        if (which != CONFIG_PRINT_DEFAULTS && !config_in_force(config, setting))
            continue;
        char *value OD_CLEANUP(base_free) = which == CONFIG_PRINT_DEFAULTS ? base_strdup(setting->text)
                                                                           : config_value_text(config, setting);
        if (which == CONFIG_PRINT_NON_DEFAULT && strcmp(value, setting->text) == 0)
            continue;
        if (setting->flags & SETTING_SECRET) {
            char *shown = config_conninfo_shown(value);
            base_free(&value);
            value = shown;
        }
        char *name OD_CLEANUP(base_free) = base_printf("%s.%s", setting->group, setting->name);
        take(context, name, value);
    }
    for (size_t i = 0; which != CONFIG_PRINT_DEFAULTS && i < config_server_count(config); i++)
        visit_named(config, config->servers[i], take, context);
    for (size_t i = 0; which != CONFIG_PRINT_DEFAULTS && i < config_feed_count(config); i++)
        visit_named(config, config->feeds[i], take, context);
}

static void print_setting(void *context, const char *name, const char *value)
{
    fprintf(context, "%s =%s%s\n", name, *value ? " " : "", value);
}

void config_print(FILE *out, const struct config *config, enum config_print which)
{
    config_visit(config, which, print_setting, out);
}

static void add_to_digest(GChecksum *sum, const struct config *config)
{
    g_checksum_update(sum, (const guchar *)config->name, (gssize)strlen(config->name) + 1);
    for (const struct setting *setting = config_table; setting->group != NULL; setting++) {
        char *value OD_CLEANUP(base_free) = config_value_text(config, setting);
        if (setting->offset != offsetof(struct config, imap.password_file))
            g_checksum_update(sum, (const guchar *)value, (gssize)strlen(value) + 1);
    }
    g_checksum_update(sum, (const guchar *)config->imap.password->text, -1);
}

char *config_digest(const struct config *config)
{
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    add_to_digest(sum, config);
    for (size_t i = 0; i < config_server_count(config); i++)
        add_to_digest(sum, config->servers[i]);
    for (size_t i = 0; i < config_feed_count(config); i++)
        add_to_digest(sum, config->feeds[i]);
    return base_strdup(g_checksum_get_string(sum));
}
