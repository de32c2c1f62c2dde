/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "decode/decode_internal.h"

#define PARAMETERS_SHORT ((size_t)1 << 10)

void decode_entity_clear(struct decode_entity *entity)
{
    base_free(&entity->boundary);
    decoded_part_clear(&entity->part);
}

/* An entity that does not begin with a field has no header. */
static struct decode_span header_span(struct decode_span span)
{
    const unsigned char *at = span.start;
    struct message_field first;
    size_t size = message_field_header_size(span.start, decode_span_size(span));

    if (message_field_next(&at, span.end, &first) && first.name_length == 0)
        size = 0;
    return (struct decode_span){span.start, span.start + size};
}

/* Returns a value as UTF-8: gmime would assume the locale's character set, and lose bytes. */
static char *read_value(struct decode_fields *fields, struct decode_span header, const char *name)
{
    size_t max = fields->parameters_left < DECODE_VALUE_MAX ? PARAMETERS_SHORT : DECODE_VALUE_MAX;
    char *value OD_CLEANUP(base_free) = decode_field(header, name, max);
    size_t length = value != NULL ? strlen(value) : 0;

    fields->parameters_left -= MIN(length, fields->parameters_left);
    char *joined OD_CLEANUP(base_free) = value != NULL ? decode_join_words(value) : NULL;
    return joined != NULL ? decode_to_utf8(joined, strlen(joined), NULL, max) : NULL;
}

/* Decodes a file name: gmime leaves words encoded if it comes in pieces (RFC 2231, 3). */
static char *name_of(const struct decode_fields *fields, const char *text)
{
    char *joined OD_CLEANUP(base_free) = text != NULL && strstr(text, "=?") != NULL ? decode_join_words(text) : NULL;

    return joined != NULL ? decode_take(g_mime_utils_header_decode_text(fields->options, joined)) : decode_copy(text);
}

static char *lower_case(char *text)
{
    for (char *c = text; c != NULL && *c; c++)
        *c = g_ascii_tolower(*c);
    return text;
}

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

/* Repairs Content-Type (media_type) or a similar field for gmime, which stops at the first damage, before a file name or
 * boundary: removes what is not a parameter, closes quotes, adds a missing first semicolon. */
static char *repair_field(const char *value, bool media_type)
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

/* Returns the first word, without comments and quotes. */
static char *first_word(const char *value)
{
    size_t start = 0;

    while (value[start] != '\0' && !g_ascii_isalnum(value[start]))
        start += value[start] == '(' ? decode_unit_length(value + start) : 1;
    size_t length = strspn(value + start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return base_strndup(value + start, length);
}

static void read_type(struct decode_fields *fields, struct decode_span header, const char *default_type,
                      struct decode_entity *entity)
{
    char *value OD_CLEANUP(base_free) = read_value(fields, header, "Content-Type");
    char *repaired OD_CLEANUP(base_free) = value != NULL && *value != '\0' ? repair_field(value, true) : NULL;
    GMimeContentType *type = g_mime_content_type_parse(fields->options, repaired != NULL ? repaired : default_type);
    const char *boundary = g_mime_content_type_get_parameter(type, "boundary");

    entity->part.type = lower_case(decode_take(g_mime_content_type_get_mime_type(type)));
    entity->part.charset = lower_case(decode_copy(g_mime_content_type_get_parameter(type, "charset")));
    entity->part.filename = name_of(fields, g_mime_content_type_get_parameter(type, "name"));
    if (boundary != NULL && g_str_has_prefix(entity->part.type, "multipart/"))
        entity->boundary = g_strchomp(base_strdup(boundary));
    if (entity->boundary != NULL && *entity->boundary == '\0')
        base_free(&entity->boundary);
    g_object_unref(type);
}

static void read_disposition(struct decode_fields *fields, struct decode_span header, struct decode_entity *entity)
{
    char *value OD_CLEANUP(base_free) = read_value(fields, header, "Content-Disposition");

    if (value == NULL)
        return;
    char *repaired OD_CLEANUP(base_free) = repair_field(value, false);
    GMimeContentDisposition *disposition = g_mime_content_disposition_parse(fields->options, repaired);
    entity->part.disposition = lower_case(decode_copy(g_mime_content_disposition_get_disposition(disposition)));
    const char *filename = g_mime_content_disposition_get_parameter(disposition, "filename");
    if (filename != NULL && *filename) {
        base_free(&entity->part.filename);
        entity->part.filename = name_of(fields, filename);
    }
    g_object_unref(disposition);
}

void decode_entity_read(struct decode_fields *fields, struct decode_span span, const char *default_type,
                        struct decode_entity *entity)
{
    struct decode_span header = header_span(span);
    char *encoding OD_CLEANUP(base_free) = read_value(fields, header, "Content-Transfer-Encoding");

    entity->body = (struct decode_span){header.end, span.end};
    char *word OD_CLEANUP(base_free) = encoding != NULL ? first_word(encoding) : NULL;
    entity->encoding = word != NULL ? g_mime_content_encoding_from_string(word) : GMIME_CONTENT_ENCODING_DEFAULT;
    read_type(fields, header, default_type, entity);
    read_disposition(fields, header, entity);
}
