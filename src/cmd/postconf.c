/* SPDX-License-Identifier: ISC
 *
 * Asks Postfix's own programs, since they know its defaults, references and tables. All settings are read in one run,
 * because each takes a while. */
#include "cmd/postconf.h"

#include <glib.h>
#include <string.h>

#define COLUMNS 8 /* of master.cf, up to the daemon's name */

struct postconf {
    const char *directory; /* NULL: Postfix's default */
    GHashTable *values;    /* name → value, of main.cf and its defaults */
    GHashTable *own;       /* those set in main.cf itself */
    GHashTable *overrides; /* service/type/name → value, of -o in master.cf */
    size_t count;
    struct postconf_service *services;
};

/* The output of PROGRAM [-c directory] OPTION [FIRST SECOND] without its last line end; a new string or NULL. */
static char *run(const char *directory, const char *program, const char *option, const char *first, const char *second)
{
    char **argv = g_new0(char *, 7), **to = argv, *output = NULL;
    int status;
    *to++ = g_strdup(program);
    if (directory != NULL) {
        *to++ = g_strdup("-c");
        *to++ = g_strdup(directory);
    }
    *to++ = g_strdup(option);
    *to++ = g_strdup(first);
    *to = g_strdup(second);
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

/* Reads lines "name = value"; NULL if postconf(1) fails. */
static GHashTable *read_settings(const char *directory, const char *option)
{
    char *text OD_CLEANUP(base_free) = run(directory, "postconf", option, NULL, NULL);
    if (text == NULL)
        return NULL;
    GHashTable *settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    char **lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        char *equals = strchr(*line, '=');
        if (equals == NULL)
            continue;
        *equals = '\0';
        g_hash_table_insert(settings, g_strdup(g_strchomp(*line)), g_strdup(g_strchug(equals + 1)));
    }
    g_strfreev(lines);
    return settings;
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

static void read_services(struct postconf *postconf)
{
    char *text OD_CLEANUP(base_free) = run(postconf->directory, "postconf", "-M", NULL, NULL);
    char **lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    postconf->services = base_alloc((g_strv_length(lines) + 1) * sizeof(*postconf->services));
    for (char **line = lines; *line != NULL; line++)
        if (read_service(*line, &postconf->services[postconf->count]))
            postconf->count++;
    g_strfreev(lines);
}

struct postconf *postconf_read(const char *directory)
{
    GHashTable *values = read_settings(directory, "-x");
    if (values == NULL)
        return NULL; /* without a configuration, each run would take a second to report that */
    struct postconf *postconf = base_alloc(sizeof(*postconf));
    *postconf = (struct postconf){
        .directory = directory,
        .values = values,
        .own = read_settings(directory, "-nx"),
        .overrides = read_settings(directory, "-Px"),
    };
    read_services(postconf);
    return postconf;
}

void postconf_free(struct postconf **postconf)
{
    struct postconf *old = *postconf;
    if (old == NULL)
        return;
    g_clear_pointer(&old->values, g_hash_table_unref);
    g_clear_pointer(&old->own, g_hash_table_unref);
    g_clear_pointer(&old->overrides, g_hash_table_unref);
    for (size_t i = 0; i < old->count; i++) {
        base_free(&old->services[i].name);
        base_free(&old->services[i].type);
        base_free(&old->services[i].processes);
        base_free(&old->services[i].daemon);
        base_free(&old->services[i].arguments);
    }
    base_free(&old->services);
    base_free(postconf);
}

const char *postconf_value(const struct postconf *postconf, const char *name)
{
    const char *value = g_hash_table_lookup(postconf->values, name);
    return value != NULL ? value : "";
}

const char *postconf_value_for(const struct postconf *postconf, const struct postconf_service *service,
                               const char *name)
{
    char *path OD_CLEANUP(base_free) = base_printf("%s/%s/%s", service->name, service->type, name);
    const char *value = postconf->overrides != NULL ? g_hash_table_lookup(postconf->overrides, path) : NULL;
    return value != NULL ? value : postconf_value(postconf, name);
}

void postconf_each(const struct postconf *postconf, void (*use)(const char *name, const char *value, void *context),
                   void *context)
{
    GHashTableIter each;
    void *name, *value;
    if (postconf->own == NULL)
        return;
    g_hash_table_iter_init(&each, postconf->own);
    while (g_hash_table_iter_next(&each, &name, &value))
        use(name, value, context);
}

const struct postconf_service *postconf_services(const struct postconf *postconf, size_t *ret_count)
{
    *ret_count = postconf->count;
    return postconf->services;
}

/* proxymap(8) answers only root and Postfix, but we can read its tables directly. */
char *postconf_lookup(const struct postconf *postconf, const char *table, const char *key)
{
    const char *direct = g_str_has_prefix(table, "proxy:") ? table + strlen("proxy:") : table;
    return run(postconf->directory, "postmap", "-q", key, direct);
}

bool postconf_is_table(const char *word)
{
    return strchr(word, ':') != NULL;
}

bool postconf_in_tables(const struct postconf *postconf, char **list, const char *key)
{
    for (char **word = list; *word != NULL; word++) {
        char *found OD_CLEANUP(base_free) = postconf_is_table(*word) ? postconf_lookup(postconf, *word, key) : NULL;
        if (found != NULL)
            return true;
    }
    return false;
}

char **postconf_words(const char *value)
{
    return split(value, ", \t");
}
