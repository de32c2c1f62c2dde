/* SPDX-License-Identifier: ISC
 *
 * Repairs Content-Type and Content-Disposition: gmime stops at the first damage, before a file name or boundary. */
#include <string.h>

#include "decode/decode_internal.h"

static size_t parameter_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0' && text[length] != ';')
        length += text[length] == '"' ? decode_unit_length(text + length) : 1;
    return length;
}

/* Adds "; name=value", quotes closed. An extended value (RFC 2231, 4) with one apostrophe instead of two becomes a
 * plain value. */
static void append_parameter(GString *out, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t name = equals != NULL ? (size_t)(equals - text) : 0;

    if (equals == NULL)
        return;
    while (name > 0 && message_is_white(text[name - 1]))
        name--;
    if (name == 0)
        return;
    const char *value = equals + 1 + strspn(equals + 1, " \t\r\n"), *mark = strchr(value, '\'');
    bool open = *value == '"' && decode_unit_length(value) == 1;
    bool half = text[name - 1] == '*' && mark != NULL && strchr(mark + 1, '\'') == NULL;
    g_string_append_printf(out, "; %.*s=%s%s", (int)(name - half), text, value, open ? "\"" : "");
}

/* Returns what precedes the parameters, comments replaced by blanks. */
static char *head_of(const char *text, size_t length)
{
    GString *head = g_string_new(NULL);

    for (size_t i = 0, n; i < length; i += n) {
        n = text[i] == '(' ? decode_unit_length(text + i) : 1;
        if (n > 1 || strchr(" \t\r\n", text[i]) != NULL)
            g_string_append_c(head, ' ');
        else
            g_string_append_c(head, text[i]);
    }
    g_strstrip(head->str);
    return g_string_free(head, FALSE);
}

/* Returns where a parameter begins without a ';' before it, or the end. */
static char *first_name(char *head)
{
    char *at = strchr(head, '=');

    if (at == NULL)
        return head + strlen(head);
    while (at > head && message_is_blank(at[-1]))
        at--;
    while (at > head && strchr(" ,", at[-1]) == NULL)
        at--;
    return at;
}

/* Without a subtype a media type becomes text/plain (RFC 2045, 5.2); with an empty part, application/octet-stream. */
static char *valid_type(const char *head, size_t length, bool media_type)
{
    char *type = g_strstrip(g_strdelimit(base_strndup(head, length), "\",", ' '));
    const char *slash = strchr(type, '/');

    if (!media_type || (slash != NULL && slash > type && slash[1] != '\0'))
        return type;
    base_free(&type);
    return base_strdup(slash == NULL ? "text/plain" : "application/octet-stream");
}

char *decode_repair(const char *value, bool media_type)
{
    size_t length = parameter_length(value);
    char *head OD_CLEANUP(base_free) = head_of(value, length);
    char *name = first_name(head);
    char *type OD_CLEANUP(base_free) = valid_type(head, (size_t)(name - head), media_type);
    GString *out = g_string_new(type);

    append_parameter(out, name);
    while (value[length] != '\0') {
        value += length + 1;
        value += strspn(value, " \t\r\n");
        length = parameter_length(value);
        char *parameter OD_CLEANUP(base_free) = g_strchomp(base_strndup(value, length));
        append_parameter(out, parameter);
    }
    return g_string_free(out, FALSE);
}

char *decode_first_word(const char *value)
{
    size_t start = 0;

    while (value[start] != '\0' && !g_ascii_isalnum(value[start]))
        start += value[start] == '(' ? decode_unit_length(value + start) : 1;
    size_t length = strspn(value + start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return base_strndup(value + start, length);
}
