/* SPDX-License-Identifier: ISC */
#include "sql/sql_value.h"

#include <glib.h>
#include <string.h>

/* Returns a length of at most max that splits no character. */
static size_t cut(const char *text, size_t length, size_t max)
{
    if (length <= max)
        return length;
    size_t end = max;
    while (end > 0 && max - end < 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

char *sql_value_truncate(const char *text, size_t max)
{
    size_t length = strlen(text);
    if (length <= max && g_utf8_validate(text, (gssize)length, NULL))
        return NULL;
    char *valid = g_utf8_make_valid(text, (gssize)cut(text, length, max));
    char *truncated = base_strndup(valid, cut(valid, strlen(valid), max)); /* U+FFFD takes three bytes for one */
    g_free(valid);
    return truncated;
}

static void append_quoted(GString *all, const char *text, bool json)
{
    char *truncated OD_CLEANUP(base_free) = sql_value_truncate(text, SQL_TEXT_MAX);
    g_string_append_c(all, '"');
    for (const char *from = truncated != NULL ? truncated : text; *from != '\0'; from++) {
        if (json && (unsigned char)*from < ' ')
            g_string_append_printf(all, "\\u%04x", (unsigned)*from);
        else if (*from == '"' || *from == '\\')
            g_string_append_printf(all, "\\%c", *from);
        else
            g_string_append_c(all, *from);
    }
    g_string_append_c(all, '"');
}

char *sql_value_list(const struct sql_value *list, bool json)
{
    GString *all = g_string_new(json ? "[" : "{");
    for (size_t i = 0; i < list->size; i++) {
        g_string_append(all, i > 0 ? "," : "");
        if (list->kind == SQL_KIND_NUMBERS)
            g_string_append_printf(all, "%" G_GINT64_FORMAT, list->numbers[i]);
        else if (list->texts[i] == NULL)
            g_string_append(all, json ? "null" : "NULL");
        else
            append_quoted(all, list->texts[i], json);
    }
    g_string_append_c(all, json ? ']' : '}');
    return g_string_free(all, FALSE);
}
