/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "base/config_internal.h"

size_t config_server_count(const struct config *config)
{
    size_t count = 0;
    while (config->servers != NULL && config->servers[count] != NULL)
        count++;
    return count;
}

const struct config *config_server(const struct config *config, const char *name)
{
    if (*name == '\0')
        return config;
    for (size_t i = 0; i < config_server_count(config); i++)
        if (strcmp(config->servers[i]->server, name) == 0)
            return config->servers[i];
    return NULL;
}

bool config_is_shared(const struct config *config)
{
    return *config->imap.user && !*config->imap.command && strstr(config->route.inbox, "%{") != NULL;
}

struct config *config_defaults(void)
{
    struct config *config = base_alloc(sizeof(*config));
    struct error error;
    for (const struct setting *setting = config_table; setting->group != NULL; setting++)
        if (!config_value_set(config, setting, setting->text, &error))
            abort();
    config->imap.password = base_alloc(sizeof(*config->imap.password));
    config->imap.password->text = base_strdup("");
    config->server = base_strdup("");
    return config;
}

static void free_one(struct config **config)
{
    for (const struct setting *setting = config_table; setting->group != NULL; setting++)
        config_value_free(*config, setting);
    base_free_secret(&(*config)->imap.password->text);
    base_free(&(*config)->imap.password);
    base_free(&(*config)->servers);
    base_free(&(*config)->server);
    base_free(config);
}

void config_free(struct config **config)
{
    if (*config == NULL)
        return;
    for (struct config **server = (*config)->servers; server != NULL && *server != NULL; server++)
        free_one(server);
    free_one(config);
}
