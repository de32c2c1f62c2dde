/* SPDX-License-Identifier: ISC */
#include "sql/sql_value.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* Returns the value's number in the statement, from 1. */
static size_t number_of(size_t value, size_t order[SQL_VALUES_MAX], size_t *count)
{
    size_t i = 0;
    while (i < *count && order[i] != value)
        i++;
    if (i == SQL_VALUES_MAX)
        abort();
    if (i == *count)
        order[(*count)++] = value;
    return i + 1;
}

/* printf(3) would take most of the time. */
static void append_number(GString *sql, size_t number)
{
    g_string_append_c(sql, '$');
    if (number >= 10)
        g_string_append_c(sql, (char)('0' + number / 10));
    g_string_append_c(sql, (char)('0' + number % 10));
}

char *sql_text_render(const char *text, const struct sql_value *values, struct sql_value ret[SQL_VALUES_MAX],
                      size_t *ret_count)
{
    size_t order[SQL_VALUES_MAX];
    GString *sql = g_string_sized_new(strlen(text));
    *ret_count = 0;
    while (*text != '\0') {
        if (*text == SQL_TEXT_IF && values[sql_text_index(text + 1)].kind == SQL_KIND_NONE) {
            text += strcspn(text, "\n");
        } else if (*text == SQL_TEXT_IF) {
            text += 3;
        } else if (*text == SQL_TEXT_VALUE) {
            append_number(sql, number_of(sql_text_index(text + 1), order, ret_count));
            text += 3;
        } else {
            size_t plain = strcspn(text, (const char[]){SQL_TEXT_VALUE, SQL_TEXT_IF, '\0'});
            g_string_append_len(sql, text, (gssize)plain);
            text += plain;
        }
    }
    for (size_t i = 0; i < *ret_count; i++)
        ret[i] = values[order[i]];
    return g_string_free(sql, FALSE);
}
