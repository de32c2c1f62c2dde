/* SPDX-License-Identifier: ISC
 *
 * The options of a conninfo. libpq tries one entry of its lists host, hostaddr and port after the other, all with the same
 * other options. */
#include <string.h>

#include "ledger/pg_internal.h"

enum { HOST, HOSTADDR, PORT, LISTS };
static const char *const keywords[LISTS] = {[HOST] = "host", [HOSTADDR] = "hostaddr", [PORT] = "port"};

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

char **pg_option_list(const PQconninfoOption *options, const char *keyword)
{
    const char *value = pg_option(options, keyword);
    return g_strsplit(value != NULL ? value : "", ",", -1);
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

static bool is_list(const char *keyword)
{
    return strcmp(keyword, keywords[HOST]) == 0 || strcmp(keyword, keywords[HOSTADDR]) == 0 ||
           strcmp(keyword, keywords[PORT]) == 0;
}

char *pg_conninfo_host(const char *conninfo, size_t n, char **ret_name)
{
    PQconninfoOption *options OD_CLEANUP(pg_options_free) = PQconninfoParse(conninfo, NULL);
    GString *text = g_string_new(NULL);
    char **lists[LISTS];
    const char *one[LISTS];
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (option->val != NULL && !is_list(option->keyword))
            append(text, option->keyword, option->val);
    for (int list = 0; list < LISTS; list++) {
        lists[list] = pg_option_list(options, keywords[list]);
        size_t count = g_strv_length(lists[list]);
        one[list] = n < count ? lists[list][n] : list == PORT && count == 1 ? lists[list][0] : NULL;
        if (one[list] != NULL)
            append(text, keywords[list], one[list]);
    }
    bool there = one[HOST] != NULL || one[HOSTADDR] != NULL;
    if (there && ret_name != NULL)
        *ret_name = base_printf("host %s%s%s", one[HOST] != NULL && one[HOST][0] != '\0' ? one[HOST] : one[HOSTADDR],
                                one[PORT] != NULL ? " port " : "", one[PORT] != NULL ? one[PORT] : "");
    for (int list = 0; list < LISTS; list++)
        g_strfreev(lists[list]);
    return g_string_free(text, !there);
}
