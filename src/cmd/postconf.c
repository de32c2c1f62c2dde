/* SPDX-License-Identifier: ISC
 *
 * Asks Postfix's programs, which know its defaults and tables. Each run is slow. */
#include "cmd/check.h"

#include <stdio.h>
#include <string.h>

char *postconf_run(const char *const *words, int *ret_status)
{
    char *output = NULL;
    bool ran = g_spawn_sync("/", (char **)(uintptr_t)words, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                            NULL, NULL, &output, NULL, ret_status, NULL);
    if (!ran)
        base_free(&output);
    return output;
}

/* Runs PROGRAM [-c directory] OPTION [KEY TABLE]. Returns its output, a new string; NULL if it fails. */
static char *run_postfix(const char *directory, const char *program, const char *option, const char *key,
                         const char *table)
{
    const char *words[] = {program, "-c", directory != NULL ? directory : program, option, key, table, NULL};
    int status;
    char *output = postconf_run(directory != NULL ? words : words + 2, &status);
    if (output != NULL && status != 0)
        base_free(&output);
    return output != NULL ? g_strchomp(output) : NULL;
}

static bool read_settings(const char *directory, const char *option, GHashTable *settings)
{
    char *text OD_CLEANUP(base_free) = run_postfix(directory, "postconf", option, NULL, NULL);
    if (text == NULL)
        return false;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        char *equals = strchr(*line, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        g_hash_table_insert(settings, g_strdup(g_strchomp(*line)), g_strdup(g_strchug(equals + 1)));
    }
    return true;
}

/* A line: name type private unpriv chroot wakeup maxproc daemon arguments. */
static struct postconf_service *read_services(const char *directory)
{
    char *text OD_CLEANUP(base_free) = run_postfix(directory, "postconf", "-M", NULL, NULL);
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    struct postconf_service *services = base_alloc((g_strv_length(lines) + 1) * sizeof(*services)), *to = services;
    for (char **line = lines; *line != NULL; line++)
        if (sscanf(*line, "%127s %15s %*s %*s %*s %*s %*s %63s", to->name, to->type, to->daemon) == 3)
            to++->line = base_strdup(*line);
    return services;
}

struct postconf *postconf_read(const char *directory)
{
    struct postconf *postconf = base_alloc(sizeof(*postconf));
    postconf->directory = directory;
    postconf->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    postconf->own = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    /* without a configuration, each run takes a second */
    if (read_settings(directory, "-x", postconf->values) && read_settings(directory, "-Px", postconf->values) &&
        read_settings(directory, "-n", postconf->own))
        postconf->services = read_services(directory);
    else
        postconf_free(&postconf);
    return postconf;
}

void postconf_free(struct postconf **postconf)
{
    struct postconf *old = *postconf;
    if (old == NULL)
        return;
    g_hash_table_unref(old->values);
    g_hash_table_unref(old->own);
    for (struct postconf_service *service = old->services; service != NULL && service->line != NULL; service++)
        base_free(&service->line);
    base_free(&old->services);
    base_free(postconf);
}

const char *postconf_value(const struct postconf *postconf, const struct postconf_service *service, const char *name)
{
    const char *value = NULL;
    if (service != NULL) {
        char *path OD_CLEANUP(base_free) = base_printf("%s/%s/%s", service->name, service->type, name);
        value = g_hash_table_lookup(postconf->values, path);
    }
    if (value == NULL)
        value = g_hash_table_lookup(postconf->values, name);
    return value != NULL ? value : "";
}

static char **words_of(const char *list)
{
    return g_strsplit_set(list, ", \t", -1);
}

/* proxymap(8) serves only root and Postfix; we read its tables. */
char *postconf_find(const struct postconf *postconf, const char *list, const char *key)
{
    g_auto(GStrv) words = words_of(list);
    char *found = NULL;
    for (char **word = words; *word != NULL; word++)
        if (g_ascii_strcasecmp(*word, key) == 0)
            return base_strdup(*word);
    for (char **word = words; *word != NULL && found == NULL; word++)
        if (strchr(*word, ':') != NULL)
            found = run_postfix(postconf->directory, "postmap", "-q", key,
                                g_str_has_prefix(*word, "proxy:") ? *word + strlen("proxy:") : *word);
    return found;
}

char *postconf_shared(const struct postconf *postconf, const char *list, const char *other)
{
    g_auto(GStrv) words = words_of(list);
    for (char **word = words; *word != NULL; word++) {
        bool empty = **word == '\0', table = strchr(*word, ':') != NULL;
        char *there OD_CLEANUP(base_free) = empty || table ? NULL : postconf_find(postconf, other, *word);
        if (there != NULL)
            return base_strdup(*word);
    }
    return NULL;
}
