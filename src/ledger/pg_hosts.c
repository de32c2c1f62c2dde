/* SPDX-License-Identifier: ISC
 *
 * The lists host, hostaddr and port of a conninfo: libpq tries one entry after the other, all with the same options. */
#include <glib.h>
#include <string.h>

#include "ledger/pg.h"

enum { HOST, HOSTADDR, PORT, LISTS };
static const char *const keywords[LISTS] = {[HOST] = "host", [HOSTADDR] = "hostaddr", [PORT] = "port"};

static void free_options(PQconninfoOption **options)
{
    PQconninfoFree(*options);
}

/* The n-th entry of a list, NULL if it has fewer; of a list with one entry that one, if `shared`. */
static const char *entry(gchar **list, size_t n, bool shared)
{
    size_t count = list != NULL ? g_strv_length(list) : 0;
    return n < count ? list[n] : shared && count == 1 ? list[0] : NULL;
}

static void append(GString *text, const char *keyword, const char *value)
{
    g_string_append_printf(text, "%s%s='", text->len > 0 ? " " : "", keyword);
    for (; *value != '\0'; value++)
        g_string_append_printf(text, "%s%c", strchr("\\'", *value) != NULL ? "\\" : "", *value);
    g_string_append_c(text, '\'');
}

static int list_of(const char *keyword)
{
    int list = 0;
    while (list < LISTS && strcmp(keyword, keywords[list]) != 0)
        list++;
    return list;
}

char *pg_conninfo_host(const char *conninfo, size_t n, char **ret_name)
{
    PQconninfoOption *options OD_CLEANUP(free_options) = PQconninfoParse(conninfo, NULL);
    GString *text = g_string_new(NULL);
    gchar **lists[LISTS] = {NULL};
    const char *one[LISTS];
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++) {
        int list = list_of(option->keyword);
        if (option->val != NULL && list < LISTS)
            lists[list] = g_strsplit(option->val, ",", -1);
        else if (option->val != NULL)
            append(text, option->keyword, option->val);
    }
    for (int list = 0; list < LISTS; list++) {
        one[list] = entry(lists[list], n, list == PORT);
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
