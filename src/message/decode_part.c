/* SPDX-License-Identifier: ISC
 *
 * The MIME tree. Walked here, over the message's own bytes: nothing is copied, depth and work are limited, and an
 * outer boundary ends everything within, as in IMAP servers. gmime decodes the fields. */
#include <string.h>

#include "message/decode_internal.h"

#define PARAMETERS_MAX ((size_t)1 << 20)    /* of all parts' fields that gmime gets; then only short ones */
#define PARAMETERS_SHORT ((size_t)1 << 10)
#define WORK_TIMES 16                       /* how often a message's bytes are looked at, at most */
#define WORK_FREE ((size_t)16 << 20)

struct walk {
    struct decoded *decoded;
    GMimeParserOptions *options;
    size_t allocated;
    size_t parameters_left;
    size_t work_left;
    size_t texts_left;
};

struct span {
    const unsigned char *start, *end;
};

struct entity {
    struct span body;
    char *type;
    char *charset;
    char *boundary;         /* of a multipart type that has one; else NULL */
    char *disposition;
    char *filename;
    GMimeContentEncoding encoding;
};

static size_t span_size(struct span span)
{
    return (size_t)(span.end - span.start);
}

static void entity_free(struct entity *entity)
{
    base_free(&entity->type);
    base_free(&entity->charset);
    base_free(&entity->boundary);
    base_free(&entity->disposition);
    base_free(&entity->filename);
}

/* The empty line ends a header, but what does not begin with a field has none: all of it is body. */
static struct span header_of(struct span span)
{
    const unsigned char *at = span.start;
    struct message_field first;
    size_t size = message_field_header_size(span.start, span_size(span));

    if (message_field_next(&at, span.end, &first) && first.name_length == 0)
        size = 0;
    return (struct span){span.start, span.start + size};
}

/* A new string, always UTF-8: gmime would take other bytes for the locale's and lose them. */
static char *field(struct walk *walk, struct span header, const char *name)
{
    size_t size = span_size(header) < DECODE_HEADER_MAX ? span_size(header) : DECODE_HEADER_MAX;
    size_t max = walk->parameters_left < DECODE_VALUE_MAX ? PARAMETERS_SHORT : DECODE_VALUE_MAX;
    OD_CLEANUP(base_free) char *value = decode_field(&(struct decode_header){header.start, size}, name, max);
    size_t length = value ? strlen(value) : 0;

    walk->parameters_left -= length < walk->parameters_left ? length : walk->parameters_left;
    return value ? decode_to_utf8(value, length, NULL, max) : NULL;
}

/* A new string: what gmime found; NULL when it is nothing. */
static char *text_of(const char *text)
{
    return text && *text ? decode_scrub(text, strlen(text)) : NULL;
}

static char *lower_case(char *text)
{
    for (char *c = text; c && *c; c++)
        *c = g_ascii_tolower(*c);
    return text;
}

/* What is missing has the default type, what is no type at all is text (RFC 2045, 5.2). */
static const char *type_or_default(const char *value, const char *default_type)
{
    if (!value || *value == '\0')
        return default_type;
    return strchr(value, '/') ? value : "text/plain";
}

static void read_type(struct walk *walk, struct span header, const char *default_type, struct entity *entity)
{
    OD_CLEANUP(base_free) char *value = field(walk, header, "Content-Type");
    GMimeContentType *type = g_mime_content_type_parse(walk->options, type_or_default(value, default_type));
    OD_CLEANUP(base_free) char *name = base_printf("%s/%s", g_mime_content_type_get_media_type(type),
                                                   g_mime_content_type_get_media_subtype(type));
    const char *boundary = g_mime_content_type_get_parameter(type, "boundary");

    entity->type = lower_case(text_of(name));
    entity->charset = lower_case(text_of(g_mime_content_type_get_parameter(type, "charset")));
    entity->filename = text_of(g_mime_content_type_get_parameter(type, "name"));
    if (boundary && g_str_has_prefix(entity->type, "multipart/"))
        entity->boundary = g_strchomp(base_strdup(boundary));
    g_object_unref(type);
}

static void read_disposition(struct walk *walk, struct span header, struct entity *entity)
{
    OD_CLEANUP(base_free) char *value = field(walk, header, "Content-Disposition");
    GMimeContentDisposition *disposition;
    const char *filename;

    if (!value)
        return;
    disposition = g_mime_content_disposition_parse(walk->options, value);
    entity->disposition = lower_case(text_of(g_mime_content_disposition_get_disposition(disposition)));
    filename = g_mime_content_disposition_get_parameter(disposition, "filename");
    if (filename && *filename) {
        base_free(&entity->filename);
        entity->filename = text_of(filename);
    }
    g_object_unref(disposition);
}

static void read_entity(struct walk *walk, struct span span, const char *default_type, struct entity *entity)
{
    struct span header = header_of(span);
    OD_CLEANUP(base_free) char *encoding = field(walk, header, "Content-Transfer-Encoding");

    entity->body = (struct span){header.end, span.end};
    entity->encoding = encoding ? g_mime_content_encoding_from_string(encoding) : GMIME_CONTENT_ENCODING_DEFAULT;
    read_type(walk, header, default_type, entity);
    read_disposition(walk, header, entity);
}

static void read_text(struct walk *walk, struct decoded_part *part, const GByteArray *raw)
{
    size_t max = walk->texts_left < DECODE_TEXT_MAX ? walk->texts_left : DECODE_TEXT_MAX;

    if (max < 4)    // no room for every character
        return;
    part->text = decode_to_utf8((const char *)raw->data, raw->len, part->charset, max);
    walk->texts_left -= strlen(part->text);
}

/* Records a part that has content of its own. */
static void record(struct walk *walk, struct entity *entity, const char *path)
{
    struct decoded *decoded = walk->decoded;
    GByteArray *raw = g_str_has_prefix(entity->type, "text/") ? g_byte_array_new() : NULL;
    struct decoded_part *part;

    if (decoded->part_count == walk->allocated) {
        walk->allocated += walk->allocated / 2 + 8;
        decoded->parts = base_realloc(decoded->parts, walk->allocated * sizeof *decoded->parts);
    }
    part = &decoded->parts[decoded->part_count++];
    *part = (struct decoded_part){
        .path = base_strdup(path),
        .type = base_strdup(entity->type),
        .charset = base_strdup(entity->charset),
        .disposition = base_strdup(entity->disposition),
        .filename = base_strdup(entity->filename),
    };
    decode_content(entity->body.start, span_size(entity->body), entity->encoding, part, raw);
    if (raw) {
        read_text(walk, part, raw);
        g_byte_array_unref(raw);
    }
}

/* A boundary's line. */
struct delimiter {
    const unsigned char *line;      /* where it begins */
    const unsigned char *after;
    bool last;
};

static bool is_delimiter(const unsigned char *line, const unsigned char *end, const char *boundary, size_t length,
                         bool *ret_last)
{
    const unsigned char *at;
    bool last;

    if ((size_t)(end - line) < 2 + length || line[0] != '-' || line[1] != '-' || memcmp(line + 2, boundary, length) != 0)
        return false;
    at = line + 2 + length;
    last = end - at >= 2 && at[0] == '-' && at[1] == '-';
    if (last)
        at += 2;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    if (at < end && *at != '\n')
        return false;
    *ret_last = last;
    return true;
}

/* The first delimiter in lines that begin in the span. */
static bool find_delimiter(struct span span, const char *boundary, struct delimiter *ret)
{
    size_t length = strlen(boundary);

    while (span.start < span.end) {
        const unsigned char *lf = memchr(span.start, '\n', span_size(span));
        const unsigned char *after = lf ? lf + 1 : span.end;

        if (is_delimiter(span.start, span.end, boundary, length, &ret->last)) {
            ret->line = span.start;
            ret->after = after;
            return true;
        }
        span.start = after;
    }
    return false;
}

/* The line end before a delimiter belongs to the delimiter (RFC 2046, 5.1.1). */
static struct span content_before(const unsigned char *start, const unsigned char *line)
{
    if (line > start && line[-1] == '\n')
        line--;
    if (line > start && line[-1] == '\r')
        line--;
    return (struct span){start, line};
}

static void walk_entity(struct walk *walk, struct span span, const char *prefix, int number, const char *default_type,
                        int depth);

static char *join(const char *prefix, int number)
{
    return *prefix ? base_printf("%s.%d", prefix, number) : base_printf("%d", number);
}

static void walk_children(struct walk *walk, struct entity *entity, struct delimiter at, const char *prefix, int depth)
{
    const char *default_type = strcmp(entity->type, "multipart/digest") == 0 ? "message/rfc822" : "text/plain";

    for (int number = 1; !at.last && walk->decoded->part_count < DECODE_PARTS_MAX; number++) {
        struct span rest = {at.after, entity->body.end}, child = rest;

        at.last = true;
        if (find_delimiter(rest, entity->boundary, &at))
            child = content_before(rest.start, at.line);
        walk_entity(walk, child, prefix, number, default_type, depth + 1);
    }
}

/* True when there is work left to go into the span. */
static bool go_into(struct walk *walk, struct span span, int depth)
{
    size_t size = span_size(span);

    if (depth >= DECODE_DEPTH_MAX || size > walk->work_left)
        return false;
    walk->work_left -= size;
    return true;
}

static bool is_message(const struct entity *entity)
{
    return strcmp(entity->type, "message/rfc822") == 0 && entity->encoding != GMIME_CONTENT_ENCODING_BASE64 &&
           entity->encoding != GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE &&
           entity->encoding != GMIME_CONTENT_ENCODING_UUENCODE;
}

/* prefix: section of the multipart or message that the entity stands in; number: its place there, 0 for what a message
 * consists of, which has a number (1) only when it is not a multipart (RFC 3501, 6.4.5). */
static void walk_entity(struct walk *walk, struct span span, const char *prefix, int number, const char *default_type,
                        int depth)
{
    OD_CLEANUP(entity_free) struct entity entity = {0};
    OD_CLEANUP(base_free) char *path = join(prefix, number > 0 ? number : 1);
    struct delimiter first;

    read_entity(walk, span, default_type, &entity);
    if (entity.boundary && *entity.boundary && go_into(walk, entity.body, depth) && find_delimiter(entity.body, entity.boundary, &first) &&
        !first.last) {
        walk_children(walk, &entity, first, number > 0 ? path : prefix, depth);
        return;
    }
    record(walk, &entity, path);
    if (is_message(&entity) && walk->decoded->part_count < DECODE_PARTS_MAX && go_into(walk, entity.body, depth))
        walk_entity(walk, entity.body, path, 0, "text/plain", depth + 1);
}

void decode_parts(struct decoded *decoded, GMimeParserOptions *options, const struct message *message)
{
    struct walk walk = {
        .decoded = decoded,
        .options = options,
        .parameters_left = PARAMETERS_MAX,
        .work_left = WORK_FREE + (message->size < SIZE_MAX / WORK_TIMES - WORK_FREE ? message->size * WORK_TIMES : 0),
        .texts_left = DECODE_TEXTS_MAX,
    };

    walk_entity(&walk, (struct span){message->data, message->data + message->size}, "", 0, "text/plain", 0);
}
