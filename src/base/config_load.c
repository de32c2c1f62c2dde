/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <string.h>

enum { FILE_LIMIT = 1048576 };

/* Names that settings had before 1.0. */
static const struct {
    const char *group, *old, *name;
} renamed[] = {
    {"imap", "idle", "idle_timeout"},
    {"route", "unknown", "unknown_account"},
    {"delivery", "sent_retry", "sent_expire_after"},
    {"delivery", "rejected", "refused"},
    {"delivery", "reject_after", "refuse_after"},
    {"identity", "ignore", "ignore_headers"},
    {"record", "abandon_after", "expire_after"},
    {"service", "clients", "trusted_users"},
    {"service", "networks", "allowed_networks"},
    {"log", "unrecorded", "unrecorded_file"},
};

static bool refuse_unknown(const char *origin, const char *group, const char *name, struct error *error)
{
    for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++)
        if (strcmp(renamed[i].group, group) == 0 && strcmp(renamed[i].old, name) == 0)
            return error_set(error, "%s: [%s] %s: no such setting; it is now %s", origin, group, name, renamed[i].name);
    g_autoptr(GString) known = g_string_new(NULL);
    bool is_group = config_table_find(group, NULL) != NULL;
    const char *last = "";
    for (const struct setting *setting = config_table; setting->group != NULL; last = setting++->group)
        if (is_group ? strcmp(setting->group, group) == 0 : strcmp(setting->group, last) != 0)
            g_string_append_printf(known, "%s%s", known->len > 0 ? ", " : "",
                                   is_group ? setting->name : setting->group);
    if (is_group)
        return error_set(error, "%s: [%s] %s: no such setting (known are %s)", origin, group, name, known->str);
    return error_set(error, "%s: [%s]: no such group (known are %s)", origin, group, known->str);
}

static bool set_one(const struct config_loading *it, const char *origin, const char *group, const char *name,
                    const char *value)
{
    const char *named = config_name_of_group(&group);
    const struct setting *setting = config_table_find(group, name);
    if (setting == NULL)
        return refuse_unknown(origin, group, name, it->error);
    g_autofree char *stripped = g_strstrip(g_strdup(value));
    if (named != NULL)
        return config_name_check(group, named, it->error) && config_named_add(it, origin, named, setting, stripped);
    if (!config_value_set(it->config, setting, stripped, it->error)) {
        bool show = !(setting->flags & SETTING_SECRET) && strlen(stripped) <= 80;
        error_prefix(it->error, "%s: [%s] %s%s%s", origin, group, name, show ? " = " : "", show ? stripped : "");
        return error_set(it->error, "%s; it sets %s", it->error->text, setting->help);
    }
    it->set_by[setting - config_table] = origin;
    return true;
}

/* Parses a line, without surrounding blanks. group: the current one; NULL: none. Never shows the line in the error:
 * it may contain part of a password. */
static bool set_from_line(const struct config_loading *it, unsigned number, char *line, const char **group)
{
    char *end = strchr(line, '\0'), *equals = strchr(line, '=');
    if (*line == '\0' || *line == '#')
        return true;
    if (*line == '[' && end[-1] == ']') {
        end[-1] = '\0';
        *group = line + 1;
        const char *plain = *group, *name = config_name_of_group(&plain);
        if (name != NULL)
            return config_name_check(plain, name, it->error) && config_named_begin(it, plain, name);
        return config_table_find(*group, NULL) != NULL || refuse_unknown(it->file, *group, "", it->error);
    }
    if (*line == '[' || equals == NULL || equals == line)
        return error_set(it->error, "%s: line %u: neither [group] nor name = value nor # comment", it->file, number);
    if (*group == NULL)
        return error_set(it->error, "%s: line %u: a setting before the first [group]", it->file, number);
    *equals = '\0';
    const struct setting *setting = config_table_find(*group, g_strchomp(line));
    if (setting != NULL && it->set_by[setting - config_table] != NULL)
        return error_set(it->error, "%s: [%s] %s: set twice", it->file, *group, line);
    return set_one(it, it->file, *group, line, equals + 1);
}

static bool set_from_file(const struct config_loading *it)
{
    const char *group = NULL;
    size_t size;
    char *content OD_CLEANUP(base_free) = secret_file_read(it->file, FILE_LIMIT, &size, it->error);
    if (content == NULL)
        return false;
    if (strlen(content) != size)
        return error_set(it->error, "%s: contains a NUL byte", it->file);
    g_auto(GStrv) lines = g_strsplit(content, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++)
        if (!set_from_line(it, i + 1, g_strstrip(lines[i]), &group))
            return false;
    return true;
}

static bool set_from_overrides(const struct config_loading *it, const char *const *overrides)
{
    for (; overrides != NULL && *overrides != NULL; overrides++) {
        g_autofree char *group = g_strdup(*overrides);
        char *value = strchr(group, '=');
        char *name = value != NULL ? memrchr(group, '.', (size_t)(value - group)) : NULL;
        if (name == NULL)
            return error_set(it->error, "-o %.*s: not of the form GROUP.NAME=VALUE", (int)strcspn(group, "="), group);
        *value++ = '\0';
        *name++ = '\0';
        if (!set_one(it, "-o", g_strstrip(group), g_strstrip(name), value))
            return false;
    }
    return true;
}

static const char *origin_of(const struct config_loading *it, const char *group, const char *name)
{
    return it->set_by[config_table_find(group, name) - config_table];
}

int64_t config_safe_hold_off(const struct config *config)
{
    return config->delivery.deadline + CONFIG_STORE_MS;
}

static void derive_hold_off(const struct config_loading *it)
{
    int64_t safe = config_safe_hold_off(it->config);
    if (origin_of(it, "delivery", "hold_off") == NULL && it->config->delivery.hold_off < safe)
        it->config->delivery.hold_off = safe;
}

/* The default in the table is not PostgreSQL's. */
static void derive_method(const struct config_loading *it)
{
    if (config_engine(it->config) == CONFIG_ENGINE_POSTGRES && origin_of(it, "lock", "method") == NULL)
        it->config->lock.method = LOCK_METHOD_ADVISORY;
}

struct config *config_load(const char *file, const char *const *overrides, struct error *error)
{
    struct config *config OD_CLEANUP(config_free) = config_defaults();
    const char **set_by OD_CLEANUP(base_free) = base_alloc(config_table_size * sizeof(*set_by));
    struct config_named *named OD_CLEANUP(config_named_free) = NULL;
    g_autoptr(GHashTable) credentials = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    const struct config_loading loading = {config, file, set_by, &named, credentials, error};
    if (!set_from_file(&loading) || !set_from_overrides(&loading, overrides))
        return NULL;
    derive_hold_off(&loading);
    derive_method(&loading);
    if (!config_check(&loading) || !config_secret_read(&loading) || !config_named_build(&loading))
        return NULL;
    return g_steal_pointer(&config);
}
