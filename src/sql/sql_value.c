/* SPDX-License-Identifier: ISC */
#include "sql/sql_value.h"

#include <glib.h>
#include <string.h>

/* At most max bytes, cut at the end of a character. */
static size_t cut(const char *text, size_t length, size_t max)
{
    if (length <= max)
        return length;
    size_t end = max;
    while (end > 0 && max - end < 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

char *sql_value_fit(const char *text, size_t max)
{
    size_t length = strlen(text);
    if (length <= max && g_utf8_validate(text, (gssize)length, NULL))
        return NULL;
    char *valid = g_utf8_make_valid(text, (gssize)cut(text, length, max));
    char *fit = base_strndup(valid, cut(valid, strlen(valid), max)); /* U+FFFD takes three bytes for one */
    g_free(valid);
    return fit;
}
