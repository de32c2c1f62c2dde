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

static void read_type(struct decode_fields *fields, struct decode_span header, const char *default_type,
                      struct decode_entity *entity)
{
    char *value OD_CLEANUP(base_free) = read_value(fields, header, "Content-Type");
    char *repaired OD_CLEANUP(base_free) = value != NULL && *value != '\0' ? decode_repair(value, true) : NULL;
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
    char *repaired OD_CLEANUP(base_free) = decode_repair(value, false);
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
    char *word OD_CLEANUP(base_free) = encoding != NULL ? decode_first_word(encoding) : NULL;
    entity->encoding = word != NULL ? g_mime_content_encoding_from_string(word) : GMIME_CONTENT_ENCODING_DEFAULT;
    read_type(fields, header, default_type, entity);
    read_disposition(fields, header, entity);
}
