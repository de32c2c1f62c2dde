/* SPDX-License-Identifier: ISC
 *
 * Encodes parameters: as text, except bytes. */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/pg.h"

static void append_quoted(GString *array, const char *text)
{
    char *truncated OD_CLEANUP(base_free) = sql_value_truncate(text, SQL_TEXT_MAX);
    g_string_append_c(array, '"');
    for (const char *from = truncated != NULL ? truncated : text; *from != '\0'; from++) {
        if (*from == '"' || *from == '\\')
            g_string_append_c(array, '\\');
        g_string_append_c(array, *from);
    }
    g_string_append_c(array, '"');
}

static char *array_of(const struct sql_value *list)
{
    GString *array = g_string_new("{");
    for (size_t i = 0; i < list->size; i++) {
        g_string_append(array, i > 0 ? "," : "");
        if (list->kind == SQL_KIND_NUMBERS)
            g_string_append_printf(array, "%" G_GINT64_FORMAT, list->numbers[i]);
        else if (list->texts[i] == NULL)
            g_string_append(array, "NULL");
        else
            append_quoted(array, list->texts[i]);
    }
    g_string_append_c(array, '}');
    return g_string_free(array, FALSE);
}

static void set_owned(struct pg_param *param, char *owned)
{
    if (owned != NULL)
        param->data = param->owned = owned;
}

struct pg_param pg_param_of(const struct sql_value *value)
{
    struct pg_param param = {.data = NULL};
    switch (value->kind) {
    case SQL_KIND_FORGOTTEN:
        abort(); /* sql_add checks */
    case SQL_KIND_NONE:
        return param;
    case SQL_KIND_BYTES:
        return (struct pg_param){.data = value->bytes, .size = value->size, .binary = true};
    case SQL_KIND_TEXT:
        param.data = value->text;
        set_owned(&param, sql_value_truncate(value->text, value->size));
        break;
    case SQL_KIND_BOOL:
        param.data = value->boolean ? "t" : "f";
        break;
    case SQL_KIND_NUMBER:
        set_owned(&param, base_printf("%" G_GINT64_FORMAT, value->number));
        break;
    case SQL_KIND_TEXTS:
    case SQL_KIND_NUMBERS:
        set_owned(&param, array_of(value));
        break;
    }
    param.size = param.data != NULL ? strlen(param.data) : 0;
    return param;
}
