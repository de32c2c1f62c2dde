/* SPDX-License-Identifier: ISC
 *
 * Walks the MIME tree, without copies, with limits of depth and work. An outer boundary ends all inside it, as in IMAP
 * servers. */
#include <string.h>

#include "decode/decode_internal.h"

#define WORK_TIMES 16 /* scans of each byte, at most */
#define WORK_FREE ((size_t)16 << 20)
#define CHUNK_SIZE ((size_t)1 << 16)
#define RAW_TEXT_MAX (4 * DECODE_TEXT_MAX) /* UTF-16 and escapes take more bytes than UTF-8 */

struct walk {
    struct decoded *decoded;
    struct decode_fields fields;
    size_t work_left;
    size_t texts_left;
    struct decode_wanted *wanted;
    decode_step step;
    void *context;
};

static void read_text(struct walk *walk, struct decoded_part *part, const GByteArray *raw)
{
    size_t max = MIN(walk->texts_left, DECODE_TEXT_MAX);

    if (max < 4) /* a character may not fit */
        return;
    part->text = decode_to_utf8((const char *)raw->data, raw->len, part->charset, max);
    walk->texts_left -= strlen(part->text);
}

static const unsigned char *after_uu_begin(struct decode_span body)
{
    for (const unsigned char *line = body.start, *next; line < body.end; line = next) {
        const unsigned char *lf = memchr(line, '\n', (size_t)(body.end - line));

        next = lf != NULL ? lf + 1 : body.end;
        if (body.end - line >= 6 && memcmp(line, "begin ", 6) == 0)
            return next;
    }
    return NULL;
}

/* Sets size and hash of the decoded content; adds its beginning, enough for DECODE_TEXT_MAX, to *text; writes it to
 * wanted. Both may be NULL. */
static void read_content(struct decode_span body, GMimeContentEncoding encoding, struct decoded_part *part,
                         GByteArray *text, struct decode_wanted *wanted)
{
    const unsigned char *begin = encoding == GMIME_CONTENT_ENCODING_UUENCODE ? after_uu_begin(body) : body.start;
    struct sha256 sha256;
    GMimeEncoding decoder;

    sha256_begin(&sha256);
    if (wanted != NULL)
        wanted->written = true;
    /* without an encoding, bytes stay */
    g_mime_encoding_init_decode(&decoder, begin != NULL ? encoding : GMIME_CONTENT_ENCODING_DEFAULT);
    char *out OD_CLEANUP(base_free) = base_alloc(g_mime_encoding_outlen(&decoder, CHUNK_SIZE));
    for (const unsigned char *at = begin != NULL ? begin : body.start; at < body.end;) {
        size_t taken = MIN((size_t)(body.end - at), CHUNK_SIZE);
        size_t length = g_mime_encoding_step(&decoder, (const char *)at, taken, out);

        at += taken;
        part->size += (int64_t)length;
        sha256_feed(&sha256, out, length);
        if (wanted != NULL && !base_write(wanted->fd, out, length))
            wanted->written = false;
        if (text != NULL)
            g_byte_array_append(text, (const guint8 *)out, (guint)MIN(length, RAW_TEXT_MAX - text->len));
    }
    sha256_end(&sha256, part->sha256);
}

static void record(struct walk *walk, struct decode_entity *entity, const char *path)
{
    struct decoded_part *part = decoded_add_part(walk->decoded);
    g_autoptr(GByteArray) raw = g_str_has_prefix(entity->part.type, "text/") ? g_byte_array_new() : NULL;

    *part = entity->part;
    entity->part = (struct decoded_part){.path = NULL};
    part->path = base_strdup(path);
    bool wanted = walk->wanted != NULL && strcmp(path, walk->wanted->path) == 0;
    read_content(entity->body, entity->encoding, part, raw, wanted ? walk->wanted : NULL);
    if (raw != NULL)
        read_text(walk, part, raw);
    if (walk->step != NULL)
        walk->step(walk->context, walk->decoded, DECODE_PART);
}

struct delimiter {
    const unsigned char *line;
    const unsigned char *after;
    bool last;
};

static bool is_delimiter(const unsigned char *line, const unsigned char *end, const char *boundary, size_t length,
                         bool *ret_last)
{
    if ((size_t)(end - line) < 2 + length || memcmp(line, "--", 2) != 0 || memcmp(line + 2, boundary, length) != 0)
        return false;
    const unsigned char *at = line + 2 + length;
    bool last = end - at >= 2 && at[0] == '-' && at[1] == '-';
    if (last)
        at += 2;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    if (at < end && *at != '\n')
        return false;
    *ret_last = last;
    return true;
}

static bool find_delimiter(struct decode_span span, const char *boundary, struct delimiter *ret)
{
    size_t length = strlen(boundary);

    while (span.start < span.end) {
        const unsigned char *lf = memchr(span.start, '\n', decode_span_size(span));
        const unsigned char *after = lf != NULL ? lf + 1 : span.end;

        if (is_delimiter(span.start, span.end, boundary, length, &ret->last)) {
            ret->line = span.start;
            ret->after = after;
            return true;
        }
        span.start = after;
    }
    return false;
}

/* The line end before a delimiter belongs to it (RFC 2046, 5.1.1). */
static struct decode_span content_before(const unsigned char *start, const unsigned char *line)
{
    if (line > start && line[-1] == '\n')
        line--;
    if (line > start && line[-1] == '\r')
        line--;
    return (struct decode_span){start, line};
}

static void walk_entity(struct walk *walk, struct decode_span span, const char *prefix, int number,
                        const char *default_type, int depth);

/* NOLINTNEXTLINE(misc-no-recursion): go_into ends it at DECODE_DEPTH_MAX */
static void walk_children(struct walk *walk, struct decode_entity *entity, struct delimiter at, const char *prefix,
                          int depth)
{
    const char *default_type = strcmp(entity->part.type, "multipart/digest") == 0 ? "message/rfc822" : "text/plain";

    for (int number = 1; !at.last && walk->decoded->part_count < DECODE_PARTS_MAX; number++) {
        struct decode_span rest = {at.after, entity->body.end}, child = rest;

        at.last = true;
        if (find_delimiter(rest, entity->boundary, &at))
            child = content_before(rest.start, at.line);
        walk_entity(walk, child, prefix, number, default_type, depth + 1);
    }
}

/* Returns true if the limits allow descending. */
static bool go_into(struct walk *walk, struct decode_span span, int depth)
{
    size_t size = decode_span_size(span);

    if (depth >= DECODE_DEPTH_MAX || size > walk->work_left)
        return false;
    walk->work_left -= size;
    return true;
}

static bool is_message(const struct decode_entity *entity)
{
    return strcmp(entity->part.type, "message/rfc822") == 0 && entity->encoding != GMIME_CONTENT_ENCODING_BASE64 &&
           entity->encoding != GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE &&
           entity->encoding != GMIME_CONTENT_ENCODING_UUENCODE;
}

/* prefix: enclosing section. number: position there; 0: top level of a message, numbered (1) unless a multipart (RFC
 * 3501, 6.4.5). */
/* NOLINTNEXTLINE(misc-no-recursion): go_into ends it at DECODE_DEPTH_MAX */
static void walk_entity(struct walk *walk, struct decode_span span, const char *prefix, int number,
                        const char *default_type, int depth)
{
    struct decode_entity entity OD_CLEANUP(decode_entity_clear) = {0};
    char *path OD_CLEANUP(base_free) = base_printf("%s%s%d", prefix, *prefix ? "." : "", MAX(number, 1));
    struct delimiter first;

    decode_entity_read(&walk->fields, span, default_type, &entity);
    if (entity.boundary != NULL && go_into(walk, entity.body, depth) &&
        find_delimiter(entity.body, entity.boundary, &first) && !first.last) {
        walk_children(walk, &entity, first, number > 0 ? path : prefix, depth);
        return;
    }
    bool message = is_message(&entity);
    record(walk, &entity, path);
    if (message && walk->decoded->part_count < DECODE_PARTS_MAX && go_into(walk, entity.body, depth))
        walk_entity(walk, entity.body, path, 0, "text/plain", depth + 1);
}

void decode_parts(struct decoded *decoded, GMimeParserOptions *options, const struct message *message,
                  struct decode_wanted *wanted, decode_step step, void *context)
{
    struct walk walk = {
        .decoded = decoded,
        .fields = {.options = options, .parameters_left = DECODE_PARAMETERS_MAX},
        .work_left = WORK_FREE + (message->size < SIZE_MAX / WORK_TIMES - WORK_FREE ? message->size * WORK_TIMES : 0),
        .texts_left = DECODE_TEXTS_MAX,
        .wanted = wanted,
        .step = step,
        .context = context,
    };

    walk_entity(&walk, (struct decode_span){message->data, message->data + message->size}, "", 0, "text/plain", 0);
}
