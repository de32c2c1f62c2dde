/* SPDX-License-Identifier: ISC */
#include "sql/sql_text.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static size_t index_at(const char *digits)
{
    int index = (digits[0] - '0') * 10 + (digits[1] - '0');
    return (size_t)index;
}

/* The number of a value in the statement, from 1. */
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

char *sql_text_render(const char *text, const struct sql_value *values, size_t ret_order[SQL_VALUES_MAX],
                      size_t *ret_count)
{
    GString *sql = g_string_new(NULL);
    *ret_count = 0;
    while (*text != '\0') {
        if (*text == SQL_TEXT_IF && values[index_at(text + 1)].kind == SQL_KIND_NONE) {
            text += strcspn(text, "\n");
        } else if (*text == SQL_TEXT_IF) {
            text += 3;
        } else if (*text == SQL_TEXT_VALUE) {
            g_string_append_printf(sql, "$%zu", number_of(index_at(text + 1), ret_order, ret_count));
            text += 3;
        } else {
            g_string_append_c(sql, *text++);
        }
    }
    return g_string_free(sql, FALSE);
}
