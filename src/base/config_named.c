/* SPDX-License-Identifier: ISC
 *
 * [imap NAME] and [feed NAME]. Each has a configuration, in which [imap] is that server, or [feed] that feed: other code
 * sees only one. */
#include "base/config_internal.h"

#include <string.h>

struct config_named {
    struct config_named *next;
    char *name;
    const struct setting *setting; /* a feed's first has no value */
    const char *origin;
    char *value;
};

void config_named_free(struct config_named **first)
{
    while (*first != NULL) {
        struct config_named *it = *first;
        *first = it->next;
        base_free(&it->name);
        base_free(&it->value);
        base_free(&it);
    }
}

const char *config_name_of_group(const char **group)
{
    static const char *const groups[] = {"imap", "feed"};
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++) {
        size_t length = strlen(groups[i]);
        if (strncmp(*group, groups[i], length) == 0 && (*group)[length] == ' ') {
            const char *name = *group + length + 1;
            *group = groups[i];
            return name;
        }
    }
    return NULL;
}

static bool is_name(const char *name)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    return *name != '\0' && strlen(name) <= 255 && name[strspn(name, all)] == '\0';
}

bool config_name_check(const char *group, const char *name, struct error *error)
{
    return is_name(name) || error_set(error, "[%s %s]: the name of a %s consists of letters, digits, '.', '-' and '_'",
                                      group, name, strcmp(group, "imap") == 0 ? "server" : "feed");
}

static void append_named(const struct config_loading *it, struct config_named new)
{
    struct config_named **last = it->named;
    while (*last != NULL)
        last = &(*last)->next;
    *last = base_alloc(sizeof(**last));
    **last = new;
}

bool config_named_begin(const struct config_loading *it, const char *group, const char *name)
{
    if (strcmp(group, "feed") == 0)
        append_named(it, (struct config_named){.name = base_strdup(name), .setting = config_table_find(group, NULL)});
    return true;
}

static bool is_of(const struct config_named *named, const char *group, const char *name)
{
    return strcmp(named->name, name) == 0 && strcmp(named->setting->group, group) == 0;
}

bool config_named_add(const struct config_loading *it, const char *origin, const char *name,
                      const struct setting *setting, const char *value)
{
    if (setting->offset == offsetof(struct config, imap.sessions))
        return error_set(it->error, "%s: [imap %s] sessions: there is one number for all servers: set it in [imap]",
                         origin, name);
    for (const struct config_named *named = *it->named; named != NULL; named = named->next)
        if (is_of(named, setting->group, name) && named->setting == setting && named->value != NULL &&
            origin == it->file && named->origin == it->file)
            return error_set(it->error, "%s: [%s %s] %s: set twice", origin, setting->group, name, setting->name);
    append_named(it, (struct config_named){
                         .name = base_strdup(name), .setting = setting, .origin = origin, .value = base_strdup(value)});
    return true;
}

static bool assign_value(const struct config_loading *it, const struct setting *setting, const char *origin,
                         const char *value)
{
    if (!config_value_set(it->config, setting, value, it->error))
        return error_prefix(it->error, "%s: [%s] %s = %s", origin, setting->group, setting->name, value);
    it->set_by[setting - config_table] = origin;
    return true;
}

/* Clears the alternative, inherited from [imap]. */
static bool replace_other(const struct config_loading *it, const struct config_named *named)
{
    static const char *const instead[][2] = {
        {"password_file", "password_command"},
        {"password_command", "password_file"},
        {"host", "command"},
    };
    bool good = true;
    for (size_t i = 0; good && named->value[0] != '\0' && i < G_N_ELEMENTS(instead); i++)
        if (strcmp(named->setting->name, instead[i][0]) == 0)
            good = assign_value(it, config_table_find("imap", instead[i][1]), named->origin, "");
    return good;
}

static bool copy_values(const struct config *from, const struct config_loading *to)
{
    bool good = true;
    for (const struct setting *setting = config_table; good && setting->group != NULL; setting++) {
        char *value OD_CLEANUP(base_free) = config_value_text(from, setting);
        good = config_value_set(to->config, setting, value, to->error);
    }
    return good;
}

static bool set_named(const struct config_loading *it, const char *group, const char *name)
{
    for (const struct config_named *named = *it->named; named != NULL; named = named->next)
        if (is_of(named, group, name) && named->value != NULL && !replace_other(it, named))
            return false;
    for (const struct config_named *named = *it->named; named != NULL; named = named->next)
        if (is_of(named, group, name) && named->value != NULL &&
            !assign_value(it, named->setting, named->origin, named->value))
            return false;
    return strcmp(group, "imap") != 0 || (config_check(it) && config_secret_read(it));
}

static bool add_named(const struct config_loading *it, const char *group, const char *name, struct config ***list,
                      size_t count)
{
    struct config *config OD_CLEANUP(config_free) = config_defaults();
    const char **set_by OD_CLEANUP(base_free) = base_alloc(config_table_size * sizeof(*set_by));
    struct config_loading loading = *it;
    loading.config = config;
    loading.set_by = set_by;
    memcpy(set_by, it->set_by, config_table_size * sizeof(*set_by));
    base_free(&config->name);
    config->name = base_strdup(name);
    if (!copy_values(it->config, &loading) || !set_named(&loading, group, name))
        return error_prefix(it->error, "%s %s", strcmp(group, "feed") == 0 ? "feed" : "IMAP server", name);
    *list = base_realloc(*list, (count + 2) * sizeof(**list));
    (*list)[count] = g_steal_pointer(&config);
    (*list)[count + 1] = NULL;
    return true;
}

bool config_named_build(const struct config_loading *it)
{
    struct config *config = it->config;
    for (const struct config_named *named = *it->named; named != NULL; named = named->next) {
        const char *group = named->setting->group, *name = named->name;
        bool is_feed = strcmp(group, "feed") == 0;
        if ((is_feed ? config_feed(config, name) : config_server(config, name)) == NULL &&
            !add_named(it, group, name, is_feed ? &config->feeds : &config->servers,
                       is_feed ? config_feed_count(config) : config_server_count(config)))
            return false;
    }
    return true;
}

/* A list of patterns with * and ?, separated by blanks; empty: all. */
static bool matches(const char *patterns, const char *text)
{
    g_auto(GStrv) all = g_strsplit_set(patterns, " \t", -1);
    bool any = false;
    for (char **pattern = all; *pattern != NULL; pattern++) {
        if (**pattern != '\0' && g_pattern_match_simple(*pattern, text))
            return true;
        any = any || **pattern != '\0';
    }
    return !any;
}

bool config_feed_takes(const struct config *feed, bool is_sent, const char *const *recipients, const char *account,
                       const char *mailbox)
{
    enum feed_role not_taken = is_sent ? FEED_ROLE_INBOX : FEED_ROLE_SENT;
    if (feed->feed.role == not_taken || !matches(feed->feed.account, account) || !matches(feed->feed.mailbox, mailbox))
        return false;
    bool taken = is_sent;
    for (; !taken && *recipients != NULL; recipients++) {
        g_autofree char *lower = g_utf8_strdown(*recipients, -1);
        taken = matches(feed->feed.recipient, lower);
    }
    return taken;
}
