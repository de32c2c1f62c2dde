/* SPDX-License-Identifier: ISC
 *
 * The options of a conninfo. */
#include <string.h>

#include "postgres/pg.h"

const char *const pg_list_keywords[PG_LISTS] = {[PG_HOST] = "host", [PG_HOSTADDR] = "hostaddr", [PG_PORT] = "port"};

void pg_options_free(PQconninfoOption **options)
{
    PQconninfoFree(*options);
}

const char *pg_option(const PQconninfoOption *options, const char *keyword)
{
    while (options != NULL && options->keyword != NULL && strcmp(options->keyword, keyword) != 0)
        options++;
    return options != NULL && options->keyword != NULL ? options->val : NULL;
}

enum pg_list pg_list_of(const char *keyword)
{
    enum pg_list list = 0;
    while (list < PG_LISTS && strcmp(keyword, pg_list_keywords[list]) != 0)
        list++;
    return list;
}

struct pg_lists pg_lists_new(const PQconninfoOption *options)
{
    struct pg_lists lists = {.hosts = 1};
    for (enum pg_list list = 0; list < PG_LISTS; list++) {
        const char *value = pg_option(options, pg_list_keywords[list]);
        lists.entries[list] = g_strsplit(value != NULL ? value : "", ",", -1);
        if (list != PG_PORT)
            lists.hosts = MAX(lists.hosts, g_strv_length(lists.entries[list]));
    }
    return lists;
}

void pg_lists_clear(struct pg_lists *lists)
{
    for (enum pg_list list = 0; list < PG_LISTS; list++)
        g_strfreev(lists->entries[list]);
}

char *pg_conninfo_value(const char *conninfo, const char *keyword)
{
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfoParse(conninfo, NULL);
    return base_strdup(pg_option(options, keyword));
}

static void append(GString *text, const char *keyword, const char *value)
{
    g_string_append_printf(text, "%s%s='", text->len > 0 ? " " : "", keyword);
    for (; *value != '\0'; value++)
        g_string_append_printf(text, "%s%c", strchr("\\'", *value) != NULL ? "\\" : "", *value);
    g_string_append_c(text, '\'');
}

char *pg_nth_host(const struct config *config, size_t n, char **ret_name)
{
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfoParse(config->database.conninfo, NULL);
    struct pg_lists lists OD_CLEANUP(pg_lists_clear) = pg_lists_new(options);
    GString *text = g_string_new(NULL);
    const char *one[PG_LISTS];
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (option->val != NULL && pg_list_of(option->keyword) == PG_LISTS)
            append(text, option->keyword, option->val);
    for (enum pg_list list = 0; list < PG_LISTS; list++) {
        size_t count = g_strv_length(lists.entries[list]);
        size_t at = list == PG_PORT && count == 1 ? 0 : n;
        one[list] = at < count ? lists.entries[list][at] : NULL;
        if (one[list] != NULL)
            append(text, pg_list_keywords[list], one[list]);
    }
    const char *host = one[PG_HOST] != NULL && one[PG_HOST][0] != '\0' ? one[PG_HOST] : one[PG_HOSTADDR];
    bool there = one[PG_HOST] != NULL || one[PG_HOSTADDR] != NULL;
    if (there && ret_name != NULL)
        *ret_name = base_printf("host %s%s%s", host, one[PG_PORT] != NULL ? " port " : "",
                                one[PG_PORT] != NULL ? one[PG_PORT] : "");
    return g_string_free(text, !there);
}
