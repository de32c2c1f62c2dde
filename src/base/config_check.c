/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <stdarg.h>
#include <string.h>

/* Refuses the setting at this address. Returns false. */
OD_PRINTF(3, 4)
static bool refuse_value(const struct config_loading *it, const void *field, const char *format, ...)
{
    size_t offset = (size_t)((const char *)field - (const char *)it->config);
    size_t row = 0;
    char why[sizeof(it->error->text)] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    while (row + 1 < config_table_size && config_table[row].offset != offset)
        row++;
    const struct setting *setting = &config_table[row];
    char *value OD_CLEANUP(base_free) = config_value_text(it->config, setting);
    return error_set(it->error, "%s: [%s] %s%s%s: %s", it->set_by[row] != NULL ? it->set_by[row] : it->file,
                     setting->group, setting->name, *value ? " = " : "", value, why);
}

static bool valid_schema(const struct config_loading *it)
{
    static const char initials[] = "abcdefghijklmnopqrstuvwxyz_";
    static const char all[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    const char *name = it->config->database.schema;
    if (strchr(initials, *name) == NULL || name[strspn(name, all)] != '\0' || strlen(name) > 63)
        return refuse_value(it, &it->config->database.schema,
                            "must be at most 63 letters a to z, digits and _, and not begin with a digit");
    if (strncmp(name, "pg_", 3) == 0)
        return refuse_value(it, &it->config->database.schema, "names that begin with pg_ belong to PostgreSQL");
    return true;
}

static bool valid_path(const struct config_loading *it)
{
    const char *path = it->config->database.conninfo + strlen(CONFIG_SQLITE);
    return (*path == '/' && path[strlen(path) - 1] != '/') ||
           refuse_value(it, &it->config->database.conninfo,
                        "behind " CONFIG_SQLITE " comes the path of a file, from / on, such as %s",
                        config_table_find("database", "conninfo")->text);
}

static bool refuse_foreign(const struct config_loading *it, const void *field, const char *owner)
{
    static const char *const engines[] = {"PostgreSQL", "SQLite", "MariaDB"};
    return refuse_value(it, field, "belongs to %s, but database.conninfo is one of %s; remove it, or change conninfo",
                        owner, engines[config_engine(it->config)]);
}

static bool valid_owners(const struct config_loading *it)
{
    for (size_t row = 0; row < config_table_size; row++) {
        const struct setting *setting = &config_table[row];
        char *value OD_CLEANUP(base_free) = config_value_text(it->config, setting);
        if (!config_in_force(it->config, setting) && it->set_by[row] != NULL && *value)
            return refuse_foreign(it, (const char *)it->config + setting->offset,
                                  setting->flags & SETTING_POSTGRES ? "PostgreSQL" : "MariaDB");
    }
    return true;
}

static bool valid_method(const struct config_loading *it)
{
    const struct config *config = it->config;
    enum config_engine engine = config_engine(config);
    if (engine == CONFIG_ENGINE_SQLITE)
        return config->lock.method == LOCK_METHOD_SESSION || refuse_foreign(it, &config->lock.method, "PostgreSQL");
    if (engine == CONFIG_ENGINE_MARIADB)
        return config->lock.method != LOCK_METHOD_ADVISORY ||
               refuse_value(it, &config->lock.method, "belongs to PostgreSQL; MariaDB has session, row and lease");
    return config->lock.method != LOCK_METHOD_SESSION ||
           refuse_value(it, &config->lock.method,
                        "belongs to SQLite and MariaDB; PostgreSQL has advisory, row and lease");
}

static bool valid_engine(const struct config_loading *it)
{
    const struct config *config = it->config;
    if ((config_is_file(config) && !valid_path(it)) || !valid_method(it) || !valid_owners(it))
        return false;
    return config_is_file(config) || !*config->route.account_file ||
           refuse_value(it, &config->route.account_file,
                        "belongs to SQLite; with PostgreSQL and MariaDB account_query reads tables of the database");
}

static bool valid_times(const struct config_loading *it)
{
    const struct config *config = it->config;
    if (config->lock.wait >= config->delivery.deadline)
        return refuse_value(it, &config->lock.wait, "must be less than delivery.deadline");
    if (config->delivery.hold_off <= config->delivery.deadline)
        return refuse_value(it, &config->delivery.hold_off, "must be more than delivery.deadline");
    return true;
}

/* Relative paths would depend on the caller's working directory. */
static bool valid_paths(const struct config_loading *it)
{
    char *const *paths[] = {&it->config->imap.ca_file, &it->config->imap.password_file,
                            &it->config->route.account_file};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (**paths[i] && **paths[i] != '/')
            return refuse_value(it, paths[i], "must be an absolute path");
    return true;
}

static bool valid_command(const struct config_loading *it, char *const *command)
{
    g_auto(GStrv) words = NULL;
    return g_shell_parse_argv(*command, NULL, &words, NULL) ||
           refuse_value(it, command, "cannot be split into words: a quote is not closed");
}

static bool valid_password(const struct config_loading *it)
{
    char *const *file = &it->config->imap.password_file, *const *command = &it->config->imap.password_command;
    if (**command)
        return valid_command(it, command) &&
               (!**file || refuse_value(it, command, "password_file is set, too; remove one of them"));
    return **file ||
           refuse_value(it, file, "must be set, or password_command: logging in to the IMAP server needs a password");
}

static bool valid_imap(const struct config_loading *it)
{
    const struct config *config = it->config;
    bool is_path = *config->imap.host == '/';
    bool is_local = is_path || strcmp(config->imap.host, "localhost") == 0 ||
                    network_is_loopback_text(config->imap.host);
    if (*config->imap.command)
        return valid_command(it, &config->imap.command);
    if (!*config->imap.host)
        return refuse_value(it, &config->imap.host, "must be set if command is not");
    if (config->imap.tls == IMAP_TLS_NONE && !is_local)
        return refuse_value(it, &config->imap.tls,
                            "passwords and mail would cross the network in the clear to host = %s;"
                            " only for localhost, 127.0.0.0/8, ::1 and unix sockets",
                            config->imap.host);
    if (config->imap.tls != IMAP_TLS_NONE && is_path)
        return refuse_value(it, &config->imap.tls, "a unix socket (host = %s) needs tls = none", config->imap.host);
    if (!valid_password(it))
        return false;
    if (*config->imap.master_user && config->imap.auth != IMAP_AUTH_PLAIN)
        return refuse_value(it, &config->imap.auth, "master_user needs auth = plain");
    return true;
}

static bool valid_names(const struct config_loading *it)
{
    const struct config *config = it->config;
    if (*config->route.inbox == '\\')
        return refuse_value(it, &config->route.inbox, "must be the name of a mailbox");
    if (*config->route.sent == '\\' && strcasecmp(config->route.sent, "\\Sent") != 0)
        return refuse_value(it, &config->route.sent, "must be the name of a mailbox, or \\Sent");
    /* Otherwise pg_notify() fails after the message is stored. */
    if (strlen(config->record.notify) > 63)
        return refuse_value(it, &config->record.notify, "longer than the 63 bytes that PostgreSQL allows");
    return true;
}

static bool valid_networks(const struct config_loading *it)
{
    char *wrong OD_CLEANUP(base_free) = network_list_wrong(it->config->service.allowed_networks);
    return wrong == NULL || refuse_value(it, &it->config->service.allowed_networks,
                                         "%s is no network: ADDRESS/BITS, such as 192.0.2.0/24 or 2001:db8::/32, with"
                                         " nothing but zeros behind these bits",
                                         wrong);
}

bool config_check(const struct config_loading *loading)
{
    return valid_schema(loading) && valid_engine(loading) && valid_times(loading) && valid_paths(loading) &&
           valid_imap(loading) && valid_names(loading) && valid_networks(loading);
}
