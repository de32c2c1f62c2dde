/* SPDX-License-Identifier: ISC
 *
 * Parameters (text made valid for the server, numbers, arrays), and columns of results. */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/pg.h"

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

char *pg_text_fit(const char *text, size_t max)
{
    size_t length = strlen(text);
    if (length <= max && g_utf8_validate(text, (gssize)length, NULL))
        return NULL;
    char *valid = g_utf8_make_valid(text, (gssize)cut(text, length, max));
    char *fit = base_strndup(valid, cut(valid, strlen(valid), max)); /* U+FFFD takes three bytes for one */
    g_free(valid);
    return fit;
}

const char *pg_number(int64_t number, char text[24])
{
    snprintf(text, 24, "%lld", (long long)number);
    return text;
}

char *pg_text_array(const char *const *items, size_t count)
{
    GString *text = g_string_new("{");
    for (size_t i = 0; i < count; i++) {
        char *fit OD_CLEANUP(base_free) = items[i] != NULL ? pg_text_fit(items[i], PG_TEXT_MAX) : NULL;
        const char *from = fit != NULL ? fit : items[i];
        g_string_append(text, i > 0 ? "," : "");
        g_string_append(text, from != NULL ? "\"" : "NULL");
        for (; from != NULL && *from != '\0'; from++) {
            if (*from == '"' || *from == '\\')
                g_string_append_c(text, '\\');
            g_string_append_c(text, *from);
        }
        g_string_append(text, items[i] != NULL ? "\"" : "");
    }
    g_string_append_c(text, '}');
    return g_string_free(text, FALSE);
}

int64_t pg_int(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

bool pg_bool(const PGresult *result, int row, int column)
{
    return PQgetvalue(result, row, column)[0] == 't';
}

char *pg_copy(const PGresult *result, int row, int column)
{
    return PQgetisnull(result, row, column) ? NULL : base_strdup(PQgetvalue(result, row, column));
}
