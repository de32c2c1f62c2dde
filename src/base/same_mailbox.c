/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <glib.h>
#include <string.h>

/* Normalises what servers may ignore; all separators become '/'. */
static char *plain(const char *name)
{
    g_autofree char *valid = g_utf8_make_valid(name, -1), *folded = g_utf8_casefold(valid, -1);
    return g_strdelimit(g_utf8_normalize(folded, -1, G_NORMALIZE_ALL), "/.\\^|", '/');
}

bool same_mailbox_possible(const char *a, const char *b)
{
    if (g_ascii_strcasecmp(a, "INBOX") == 0 || g_ascii_strcasecmp(b, "INBOX") == 0)
        return g_ascii_strcasecmp(a, b) == 0;
    if (g_ascii_strcasecmp(a, "\\Sent") == 0 || g_ascii_strcasecmp(b, "\\Sent") == 0)
        return true;
    char *first OD_CLEANUP(base_free) = plain(a), *second OD_CLEANUP(base_free) = plain(b);
    const char *longer = strlen(first) < strlen(second) ? second : first, *shorter = longer == first ? second : first;
    size_t before = strlen(longer) - strlen(shorter);
    return strcmp(longer + before, shorter) == 0 && (before == 0 || longer[before - 1] == '/');
}
