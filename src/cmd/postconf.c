/* SPDX-License-Identifier: ISC
 *
 * Each answer is one run of a program of Postfix's: they know its defaults, its references and its tables. */
#include "cmd/postconf.h"

#include <glib.h>
#include <string.h>

#define COLUMNS 8 /* of master.cf, up to the daemon's name */

static const char *config_directory; /* NULL: Postfix's default */

void postconf_use(const char *directory)
{
    config_directory = directory;
}

/* Output of PROGRAM [-c directory] OPTION FIRST [SECOND] without its last line end; a new string or NULL. */
static char *run(const char *program, const char *option, const char *first, const char *second)
{
    char **argv = g_new0(char *, 7), **to = argv, *output = NULL;
    int status;
    *to++ = g_strdup(program);
    if (config_directory != NULL) {
        *to++ = g_strdup("-c");
        *to++ = g_strdup(config_directory);
    }
    *to++ = g_strdup(option);
    *to++ = g_strdup(first);
    *to = first != NULL ? g_strdup(second) : NULL;
    bool ran = g_spawn_sync("/", argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
                            NULL, &status, NULL);
    g_strfreev(argv);
    if (!ran)
        return NULL;
    if (status != 0) {
        g_free(output);
        return NULL;
    }
    return g_strchomp(output);
}

char *postconf_value(const char *name)
{
    return run("postconf", "-xh", name, NULL);
}

char *postconf_value_for(const struct postconf_service *service, const char *name)
{
    char *path OD_CLEANUP(base_free) = base_printf("%s/%s/%s", service->name, service->type, name);
    char *value = run("postconf", "-xhP", path, NULL);
    if (value != NULL && value[0] != '\0')
        return value;
    g_free(value);
    return postconf_value(name);
}

void postconf_each(void (*use)(const char *name, const char *value, void *context), void *context)
{
    char *all OD_CLEANUP(base_free) = run("postconf", "-nx", NULL, NULL);
    char **lines = g_strsplit(all != NULL ? all : "", "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        char *equals = strchr(*line, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        use(g_strchomp(*line), g_strchug(equals + 1), context);
    }
    g_strfreev(lines);
}

/* Without empty words. */
static char **split(const char *text, const char *separators)
{
    char **all = g_strsplit_set(text, separators, -1);
    char **words = g_new0(char *, g_strv_length(all) + 1), **to = words;
    for (char **word = all; *word != NULL; word++) {
        if (**word != '\0')
            *to++ = *word;
        else
            g_free(*word);
    }
    g_free(all);
    return words;
}

char **postconf_words(const char *value)
{
    return split(value, ", \t");
}

/* A line: name type private unpriv chroot wakeup maxproc command arguments. */
static bool read_service(const char *line, struct postconf_service *ret)
{
    char **words = split(line, " \t");
    bool whole = g_strv_length(words) >= COLUMNS;
    if (whole)
        *ret = (struct postconf_service){
            .name = base_strdup(words[0]),
            .type = base_strdup(words[1]),
            .processes = base_strdup(words[6]),
            .daemon = base_strdup(words[7]),
            .arguments = g_strjoinv(" ", words + COLUMNS),
        };
    g_strfreev(words);
    return whole;
}

bool postconf_services(struct postconf_services *ret)
{
    char *text OD_CLEANUP(base_free) = run("postconf", "-M", NULL, NULL);
    if (text == NULL)
        return false;
    char **lines = g_strsplit(text, "\n", -1);
    struct postconf_services found = {.all = base_alloc((g_strv_length(lines) + 1) * sizeof(*found.all))};
    for (char **line = lines; *line != NULL; line++)
        if (read_service(*line, &found.all[found.count]))
            found.count++;
    g_strfreev(lines);
    *ret = found;
    return true;
}

void postconf_services_free(struct postconf_services *services)
{
    for (size_t i = 0; i < services->count; i++) {
        struct postconf_service *service = &services->all[i];
        base_free(&service->name);
        base_free(&service->type);
        base_free(&service->processes);
        base_free(&service->daemon);
        base_free(&service->arguments);
    }
    base_free(&services->all);
    services->count = 0;
}

/* proxymap(8) answers root and Postfix alone; what it would read may be read without it. */
char *postconf_lookup(const char *table, const char *key)
{
    return run("postmap", "-q", key, g_str_has_prefix(table, "proxy:") ? table + strlen("proxy:") : table);
}
