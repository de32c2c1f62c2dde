/* SPDX-License-Identifier: ISC
 *
 * Servers [imap NAME]. Each has a configuration, in which [imap] is that server: other code sees one server only. */
#include "base/config_internal.h"

#include <string.h>

struct config_named {
    struct config_named *next;
    char *server;
    const struct setting *setting;
    const char *origin;
    char *value;
};

void config_named_free(struct config_named **first)
{
    while (*first != NULL) {
        struct config_named *it = *first;
        *first = it->next;
        base_free(&it->server);
        base_free(&it->value);
        base_free(&it);
    }
}

const char *config_server_of_group(const char *group)
{
    return g_str_has_prefix(group, "imap ") ? group + strlen("imap ") : NULL;
}

static bool is_name(const char *name)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_";
    return *name != '\0' && strlen(name) <= 255 && name[strspn(name, all)] == '\0';
}

bool config_server_check(const char *name, struct error *error)
{
    return is_name(name) ||
           error_set(error, "[imap %s]: the name of a server consists of letters, digits, '.', '-' and '_'", name);
}

bool config_named_add(const struct config_loading *it, const char *origin, const char *server,
                      const struct setting *setting, const char *value)
{
    struct config_named **last = it->named;
    if (setting->offset == offsetof(struct config, imap.sessions))
        return error_set(it->error, "%s: [imap %s] sessions: there is one number for all servers: set it in [imap]",
                         origin, server);
    for (; *last != NULL; last = &(*last)->next)
        if (strcmp((*last)->server, server) == 0 && (*last)->setting == setting && origin == it->file &&
            (*last)->origin == it->file)
            return error_set(it->error, "%s: [imap %s] %s: set twice", origin, server, setting->name);
    *last = base_alloc(sizeof(**last));
    **last = (struct config_named){.server = base_strdup(server),
                                   .setting = setting,
                                   .origin = origin,
                                   .value = base_strdup(value)};
    return true;
}

static bool assign_value(const struct config_loading *it, const struct setting *setting, const char *origin,
                         const char *value)
{
    if (!config_value_set(it->config, setting, value, it->error))
        return error_prefix(it->error, "%s: [imap] %s = %s", origin, setting->name, value);
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

static bool set_named(const struct config_loading *it, const char *name)
{
    for (const struct config_named *named = *it->named; named != NULL; named = named->next)
        if (strcmp(named->server, name) == 0 && !replace_other(it, named))
            return false;
    for (const struct config_named *named = *it->named; named != NULL; named = named->next)
        if (strcmp(named->server, name) == 0 && !assign_value(it, named->setting, named->origin, named->value))
            return false;
    return config_check(it) && config_secret_read(it);
}

static bool add_server(const struct config_loading *it, const char *name)
{
    struct config *config OD_CLEANUP(config_free) = config_defaults();
    const char **set_by OD_CLEANUP(base_free) = base_alloc(config_table_size * sizeof(*set_by));
    struct config_loading server = *it;
    server.config = config;
    server.set_by = set_by;
    memcpy(set_by, it->set_by, config_table_size * sizeof(*set_by));
    base_free(&config->server);
    config->server = base_strdup(name);
    if (!copy_values(it->config, &server) || !set_named(&server, name))
        return error_prefix(it->error, "IMAP server %s", name);
    size_t count = config_server_count(it->config);
    it->config->servers = base_realloc(it->config->servers, (count + 2) * sizeof(*it->config->servers));
    it->config->servers[count] = g_steal_pointer(&config);
    it->config->servers[count + 1] = NULL;
    return true;
}

bool config_named_build(const struct config_loading *it)
{
    for (const struct config_named *named = *it->named; named != NULL; named = named->next)
        if (config_server(it->config, named->server) == NULL && !add_server(it, named->server))
            return false;
    return true;
}
