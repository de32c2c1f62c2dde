/* SPDX-License-Identifier: ISC
 *
 * Values as literals. */
#include <stdlib.h>
#include <string.h>

#include "mariadb/maria.h"

#define ROW "VALUES ("
#define ROW_OF_MESSAGE "VALUES (@message, "
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 @.,:<>()[]+-_/="

static void append_hex(GString *sql, const void *bytes, size_t size)
{
    gsize at = sql->len;
    g_string_append(sql, "X'");
    g_string_set_size(sql, at + 2 + 2 * size);
    base_hex(bytes, size, sql->str + at + 2); /* and a NUL, where GString has one */
    g_string_append_c(sql, '\'');
}

/* hex: even plain text. */
static void append_text(GString *sql, const char *text, size_t max, bool hex)
{
    char *truncated OD_CLEANUP(base_free) = sql_value_truncate(text, max);
    const char *good = truncated != NULL ? truncated : text;
    size_t size = strlen(good);
    if (hex || strspn(good, PLAIN) < size) {
        g_string_append(sql, "_utf8mb4 ");
        append_hex(sql, good, size);
    } else {
        g_string_append_printf(sql, "'%s'", good);
    }
}

/* Values go into the text, or to EXECUTE's parameters, with ? in their place. */
struct out {
    GString *sql, *given; /* given: NULL: into the text */
};

static GString *place(struct out *out)
{
    if (out->given == NULL)
        return out->sql;
    g_string_append_c(out->sql, '?');
    g_string_append(out->given, out->given->len > 0 ? ", " : "");
    return out->given;
}

static void append_item(struct out *out, const struct sql_value *list, size_t item)
{
    GString *sql = place(out);
    if (list->kind == SQL_KIND_NUMBERS)
        g_string_append_printf(sql, "%" G_GINT64_FORMAT, list->numbers[item]);
    else if (list->texts[item] == NULL)
        g_string_append(sql, "NULL");
    else
        append_text(sql, list->texts[item], SQL_TEXT_MAX, false);
}

static void append_items(struct out *out, const struct sql_value *list)
{
    for (size_t i = 0; i < list->size; i++) {
        g_string_append(out->sql, i > 0 ? ", " : "");
        append_item(out, list, i);
    }
    if (list->size == 0)
        g_string_append(out->sql, "NULL"); /* matches nothing */
}

static void append_as_json(GString *sql, const struct sql_value *list)
{
    char *json OD_CLEANUP(base_free) = sql_value_list(list, true);
    append_text(sql, json, SIZE_MAX, false);
}

static void append_value(GString *sql, const struct sql_value *value)
{
    switch (value->kind) {
    case SQL_KIND_FORGOTTEN:
        abort(); /* sql_add checks */
    case SQL_KIND_NONE:
        g_string_append(sql, "NULL");
        break;
    case SQL_KIND_TEXT:
        append_text(sql, value->text, value->size, false);
        break;
    case SQL_KIND_BOOL:
        g_string_append(sql, value->boolean ? "TRUE" : "FALSE");
        break;
    case SQL_KIND_NUMBER:
        g_string_append_printf(sql, "%" G_GINT64_FORMAT, value->number);
        break;
    case SQL_KIND_BYTES:
        append_hex(sql, value->bytes, value->size);
        break;
    case SQL_KIND_TEXTS:
    case SQL_KIND_NUMBERS:
        append_as_json(sql, value);
        break;
    }
}

/* Appends a row for each item of the lists. Returns the closing parenthesis. */
static const char *append_rows(struct out *out, const char *text, const struct sql_value *values)
{
    const char *begin = g_str_has_suffix(out->sql->str, ROW) ? ROW : ROW_OF_MESSAGE;
    const struct sql_value *lists[SQL_VALUES_MAX];
    size_t count = 0;
    for (; *text != ')'; text++)
        if (*text == SQL_TEXT_VALUE && count < SQL_VALUES_MAX)
            lists[count++] = &values[sql_text_index(text + 1)];
    for (size_t row = 0; count > 0 && row < lists[0]->size; row++) {
        if (row > 0)
            g_string_append_printf(out->sql, "), %s", begin + strlen("VALUES "));
        for (size_t i = 0; i < count; i++) {
            g_string_append(out->sql, i > 0 ? ", " : "");
            append_item(out, lists[i], row);
        }
    }
    return text;
}

static bool begins_row(const GString *sql)
{
    return g_str_has_suffix(sql->str, ROW) || g_str_has_suffix(sql->str, ROW_OF_MESSAGE);
}

static bool is_list(const struct sql_value *value)
{
    return value->kind == SQL_KIND_TEXTS || value->kind == SQL_KIND_NUMBERS;
}

/* Appends the value at this place. Returns what follows it. */
static const char *append_value_at(struct out *out, const char *text, const struct sql_value *values)
{
    const struct sql_value *value = &values[sql_text_index(text + 1)];
    if (is_list(value) && begins_row(out->sql))
        return append_rows(out, text, values);
    if (is_list(value) && g_str_has_suffix(out->sql->str, "IN ("))
        append_items(out, value);
    else
        append_value(place(out), value);
    return text + 3;
}

char *maria_text(const char *text, const struct sql_value *values, GString *given)
{
    struct out out = {.sql = g_string_sized_new(2 * strlen(text)), .given = given};
    while (*text != '\0') {
        if (*text == SQL_TEXT_IF) {
            text += values[sql_text_index(text + 1)].kind == SQL_KIND_NONE ? strcspn(text, "\n") : 3;
        } else if (*text == SQL_TEXT_VALUE) {
            text = append_value_at(&out, text, values);
        } else {
            size_t plain = strcspn(text, (const char[]){SQL_TEXT_VALUE, SQL_TEXT_IF, '\0'});
            g_string_append_len(out.sql, text, (gssize)plain);
            text += plain;
        }
    }
    while (out.sql->len > 0 && strchr(";\n", out.sql->str[out.sql->len - 1]) != NULL) /* all of the last was left out */
        g_string_truncate(out.sql, out.sql->len - 1);
    return g_string_free(out.sql, FALSE);
}

size_t maria_statements(const char *text)
{
    size_t count = 1;
    while ((text = strstr(text, ";\n")) != NULL) { /* written by steps.awk */
        text += 2;
        count++;
    }
    return count;
}

/* Returns the end of a quoted part or comment, else text. A backslash may escape a quote. */
static const char *end_of_quoted(const char *text)
{
    if (strchr("'\"`", *text) != NULL) {
        const char *end = text + 1;
        while (*end != '\0' && *end != *text)
            end += *end == '\\' && end[1] != '\0' ? 2 : 1;
        return *end != '\0' ? end + 1 : end;
    }
    if (*text == '#' || g_str_has_prefix(text, "-- "))
        return text + strcspn(text, "\n");
    const char *end = g_str_has_prefix(text, "/*") ? strstr(text, "*/") : NULL;
    return end != NULL ? end + 2 : text;
}

/* Replaces $1 by ?. Returns how often. */
static size_t replace_values(const char *text, GString *sql)
{
    size_t count = 0;
    while (*text != '\0') {
        const char *end = end_of_quoted(text);
        if (end > text) {
            g_string_append_len(sql, text, end - text);
            text = end;
        } else if (g_str_has_prefix(text, "$1") && !g_ascii_isdigit(text[2])) {
            g_string_append_c(sql, '?');
            count++;
            text += 2;
        } else {
            g_string_append_c(sql, *text++);
        }
    }
    return count;
}

char *maria_site_text(const char *text, const struct sql_value *value)
{
    g_autoptr(GString) query = g_string_new(NULL);
    size_t count = replace_values(text, query);
    GString *sql = g_string_new("EXECUTE IMMEDIATE ");
    append_text(sql, query->str, SIZE_MAX, true);
    for (size_t i = 0; i < count; i++) {
        g_string_append(sql, i == 0 ? " USING " : ", ");
        if (value->kind == SQL_KIND_TEXT)
            append_text(sql, value->text, value->size, true);
        else
            append_value(sql, value);
    }
    return g_string_free(sql, FALSE);
}
