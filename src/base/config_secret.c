/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns false if a credential would replace two files: a server would get another server's password. */
static bool record_credential(const struct config_loading *it, const char *credential, const char *file)
{
    const char *other = g_hash_table_lookup(it->credentials, credential);
    if (other != NULL && strcmp(other, file) != 0)
        return error_set(
            it->error, "%s and %s have the same name, so systemd's credential %s cannot be a copy of both; rename one",
            other, file, credential);
    g_hash_table_insert(it->credentials, g_strdup(credential), g_strdup(file));
    return true;
}

/* Prefers systemd's copy (LoadCredential=) of password_file, which may be unreadable. A named server may have
 * inherited the copy. */
static bool prefer_credential(const struct config_loading *it)
{
    char **file = &it->config->imap.password_file;
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    if (directory == NULL || *directory != '/' || **file == '\0' || *it->config->imap.command != '\0')
        return true;
    g_autofree char *name = g_path_get_basename(*file);
    char *path OD_CLEANUP(base_free) = base_printf("%s/%s", directory, name);
    if (strcmp(path, *file) == 0 || access(path, F_OK) != 0)
        return true;
    if (!record_credential(it, path, *file))
        return false;
    base_free(file);
    *file = g_steal_pointer(&path);
    return true;
}

bool config_renew_password(const struct config *config, struct error *error)
{
    const char *file = config->imap.password_file;
    if (*config->imap.command || !*file)
        return true;
    struct stat status; /* from before: a file written meanwhile is read again */
    int64_t written_ns = stat(file, &status) == 0 ? (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec
                                                  : 0;
    char *line = secret_file_line(file, error);
    if (line == NULL)
        return false;
    base_free_secret(&config->imap.password->text);
    config->imap.password->text = line;
    config->imap.password->written_ns = written_ns;
    return true;
}

bool config_secret_read(const struct config_loading *it)
{
    const struct setting *setting = config_table_find("imap", "password_file");
    if (prefer_credential(it) && config_renew_password(it->config, it->error))
        return true;
    return error_prefix(it->error, "%s: [imap] password_file", it->set_by[setting - config_table]);
}
