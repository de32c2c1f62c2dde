/* SPDX-License-Identifier: ISC
 *
 * The header of a part: its type, its encoding, its file name. */
#include <string.h>

#include "decode/decode_entity.h"

#define PARAMETERS_SHORT ((size_t)1 << 10)

void decode_entity_clear(struct decode_entity *entity)
{
    base_free(&entity->type);
    base_free(&entity->charset);
    base_free(&entity->boundary);
    base_free(&entity->disposition);
    base_free(&entity->filename);
}

/* The empty line ends a header. An entity that does not begin with a field has none: all of it is body. */
static struct decode_span header_of(struct decode_span span)
{
    const unsigned char *at = span.start;
    struct message_field first;
    size_t size = message_field_header_size(span.start, decode_span_size(span));

    if (message_field_next(&at, span.end, &first) && first.name_length == 0)
        size = 0;
    return (struct decode_span){span.start, span.start + size};
}

/* A new string, always UTF-8: gmime would assume that other bytes are in the locale's character set and lose them. */
static char *field(struct decode_fields *fields, struct decode_span header, const char *name)
{
    size_t size = decode_span_size(header) < DECODE_HEADER_MAX ? decode_span_size(header) : DECODE_HEADER_MAX;
    size_t max = fields->parameters_left < DECODE_VALUE_MAX ? PARAMETERS_SHORT : DECODE_VALUE_MAX;
    char *value OD_CLEANUP(base_free) = decode_field(&(struct decode_header){header.start, size}, name, max);
    size_t length = value != NULL ? strlen(value) : 0;

    fields->parameters_left -= length < fields->parameters_left ? length : fields->parameters_left;
    char *joined OD_CLEANUP(base_free) = value != NULL ? decode_join_words(value) : NULL;
    return joined != NULL ? decode_to_utf8(joined, strlen(joined), NULL, max) : NULL;
}

/* A new string with gmime's result; NULL if it is empty. */
static char *text_of(const char *text)
{
    return text != NULL && *text ? decode_scrub(text, strlen(text)) : NULL;
}

/* The same for a file's name. gmime leaves words in it where it comes in pieces (RFC 2231, 3). */
static char *name_of(const struct decode_fields *fields, const char *text)
{
    char *joined OD_CLEANUP(base_free) = text != NULL && strstr(text, "=?") != NULL ? decode_join_words(text) : NULL;

    return joined != NULL ? decode_take(g_mime_utils_header_decode_text(fields->options, joined)) : text_of(text);
}

static char *lower_case(char *text)
{
    for (char *c = text; c != NULL && *c; c++)
        *c = g_ascii_tolower(*c);
    return text;
}

/* A missing type is the default type; an invalid one is text (RFC 2045, 5.2). */
static const char *type_or_default(const char *value, const char *default_type)
{
    if (value == NULL || *value == '\0')
        return default_type;
    return strchr(value, '/') != NULL ? value : "text/plain";
}

static void read_type(struct decode_fields *fields, struct decode_span header, const char *default_type,
                      struct decode_entity *entity)
{
    char *value OD_CLEANUP(base_free) = field(fields, header, "Content-Type");
    GMimeContentType *type = g_mime_content_type_parse(fields->options, type_or_default(value, default_type));
    char *name OD_CLEANUP(base_free) =
        base_printf("%s/%s", g_mime_content_type_get_media_type(type), g_mime_content_type_get_media_subtype(type));
    const char *boundary = g_mime_content_type_get_parameter(type, "boundary");

    entity->type = lower_case(text_of(name));
    entity->charset = lower_case(text_of(g_mime_content_type_get_parameter(type, "charset")));
    entity->filename = name_of(fields, g_mime_content_type_get_parameter(type, "name"));
    if (boundary != NULL && g_str_has_prefix(entity->type, "multipart/"))
        entity->boundary = g_strchomp(base_strdup(boundary));
    if (entity->boundary != NULL && *entity->boundary == '\0')
        base_free(&entity->boundary);
    g_object_unref(type);
}

static void read_disposition(struct decode_fields *fields, struct decode_span header, struct decode_entity *entity)
{
    char *value OD_CLEANUP(base_free) = field(fields, header, "Content-Disposition");
    GMimeContentDisposition *disposition;
    const char *filename;

    if (value == NULL)
        return;
    disposition = g_mime_content_disposition_parse(fields->options, value);
    entity->disposition = lower_case(text_of(g_mime_content_disposition_get_disposition(disposition)));
    filename = g_mime_content_disposition_get_parameter(disposition, "filename");
    if (filename != NULL && *filename) {
        base_free(&entity->filename);
        entity->filename = name_of(fields, filename);
    }
    g_object_unref(disposition);
}

void decode_entity_read(struct decode_fields *fields, struct decode_span span, const char *default_type,
                        struct decode_entity *entity)
{
    struct decode_span header = header_of(span);
    char *encoding OD_CLEANUP(base_free) = field(fields, header, "Content-Transfer-Encoding");

    entity->body = (struct decode_span){header.end, span.end};
    entity->encoding = encoding != NULL ? g_mime_content_encoding_from_string(encoding)
                                        : GMIME_CONTENT_ENCODING_DEFAULT;
    read_type(fields, header, default_type, entity);
    read_disposition(fields, header, entity);
}
