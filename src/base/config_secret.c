/* SPDX-License-Identifier: ISC
 *
 * imap.password_file, which may be systemd's copy. */
#include "base/config_secret.h"

#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/private.h"

/* Under systemd a unit's LoadCredential= gives a service its own copy of the file, whoever may read the original: it has
 * the file's name, in this directory. */
static void prefer_credential(struct config *config)
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    if (directory == NULL || *directory != '/' || !*config->imap.password_file)
        return;
    g_autofree char *name = g_path_get_basename(config->imap.password_file);
    char *path OD_CLEANUP(base_free) = base_printf("%s/%s", directory, name);
    if (access(path, F_OK) == 0) {
        base_free(&config->imap.password_file);
        config->imap.password_file = g_steal_pointer(&path);
    }
}

bool config_renew_password(const struct config *config, struct fault *fault)
{
    const char *file = config->imap.password_file;
    if (*config->imap.command || !*file)
        return true;
    char *line = private_line(file, fault);
    if (line == NULL)
        return false;
    base_free_secret(&config->imap.password->text);
    config->imap.password->text = line;
    return true;
}

bool config_secret_read(const struct config_loading *it)
{
    const struct setting *setting = config_table_find("imap", "password_file");
    prefer_credential(it->config);
    if (config_renew_password(it->config, it->fault))
        return true;
    return fault_prefix(it->fault, "%s: [imap] password_file", it->set_by[setting - config_table]);
}
