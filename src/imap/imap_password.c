/* SPDX-License-Identifier: ISC */
#include "imap/imap.h"

#include <glib.h>
#include <string.h>

#define TOKEN_CACHE_MAX 10000 /* per process */

static void free_secret(gpointer text)
{
    char *it = text;
    base_free_secret(&it);
}

static GHashTable *token_cache(void)
{
    static GHashTable *tokens;
    if (tokens == NULL)
        tokens = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_secret);
    return tokens;
}

bool imap_password_is_own(const struct config *config)
{
    return strstr(config->imap.password_command, CONFIG_USER) != NULL;
}

static char *token_key(const struct config *config, const char *login)
{
    return base_printf("%s\n%s", imap_password_is_own(config) ? login : "", config->imap.password_command);
}

/* Runs the command, and caches its output. */
static char *token_is_cached(const struct config *config, const char *login, int64_t ms, struct error *error)
{
    size_t size;
    char *output OD_CLEANUP(base_free_secret) = imap_spawn_password(config, login, ms, &size, error);
    char *token = output != NULL ? secret_file_first_line("imap.password_command", output, size, error) : NULL;
    if (token == NULL)
        return NULL;
    if (g_hash_table_size(token_cache()) >= TOKEN_CACHE_MAX)
        g_hash_table_remove_all(token_cache());
    g_hash_table_insert(token_cache(), token_key(config, login), base_strdup(token));
    return token;
}

char *imap_password(const struct config *config, const char *login, int64_t ms, struct error *error)
{
    if (*config->imap.password_command == '\0' || *config->imap.command != '\0')
        return base_strdup(config->imap.password->text);
    char *key OD_CLEANUP(base_free) = token_key(config, login);
    const char *token = g_hash_table_lookup(token_cache(), key);
    return token != NULL ? base_strdup(token) : token_is_cached(config, login, ms, error);
}

static char *password_reread(const struct config *config, const char *login, int64_t ms, struct error *error)
{
    if (*config->imap.password_command != '\0' && *config->imap.command == '\0')
        return token_is_cached(config, login, ms, error);
    return config_renew_password(config, error) ? base_strdup(config->imap.password->text) : NULL;
}

char *imap_password_renew(const struct config *config, const char *login, const char *refused, int64_t ms,
                          struct error *error)
{
    struct error why;
    char *password = password_reread(config, login, ms, &why);
    if (password == NULL)
        error_set(error, "%s; then imap.password_%s: %s", error->text,
                  *config->imap.password_command != '\0' ? "command was run again" : "file was read again", why.text);
    else if (strcmp(password, refused) == 0)
        base_free_secret(&password);
    return password;
}
