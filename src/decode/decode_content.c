/* SPDX-License-Identifier: ISC
 *
 * The content of a part: decoded from its transfer encoding and hashed in one pass. */
#include <string.h>

#include "decode/decode_internal.h"

#define CHUNK_SIZE ((size_t)1 << 16)
#define RAW_TEXT_MAX (4 * DECODE_TEXT_MAX) /* UTF-16 takes two bytes for one of UTF-8, escapes more */

struct sink {
    GChecksum *sha256;
    int64_t size;
    GByteArray *text;
};

static void sink_take(struct sink *sink, const unsigned char *bytes, size_t size)
{
    if (size == 0)
        return;
    g_checksum_update(sink->sha256, bytes, (gssize)size);
    sink->size += (int64_t)size;
    if (sink->text != NULL && sink->text->len < RAW_TEXT_MAX) {
        size_t room = RAW_TEXT_MAX - sink->text->len;

        g_byte_array_append(sink->text, bytes, (guint)(size < room ? size : room));
    }
}

/* What follows the line "begin MODE NAME"; NULL if there is no such line. */
static const unsigned char *after_uu_begin(const unsigned char *body, size_t size)
{
    const unsigned char *end = body + size;

    while (body < end) {
        const unsigned char *lf = memchr(body, '\n', (size_t)(end - body));

        if (end - body >= 6 && memcmp(body, "begin ", 6) == 0)
            return lf != NULL ? lf + 1 : end;
        body = lf != NULL ? lf + 1 : end;
    }
    return NULL;
}

static void stream(struct sink *sink, GMimeEncoding *decoder, const unsigned char *body, size_t size)
{
    char *out OD_CLEANUP(base_free) = base_alloc(g_mime_encoding_outlen(decoder, CHUNK_SIZE));

    while (size > 0) {
        size_t n = size < CHUNK_SIZE ? size : CHUNK_SIZE;

        sink_take(sink, (unsigned char *)out, g_mime_encoding_step(decoder, (const char *)body, n, out));
        body += n;
        size -= n;
    }
}

static void decode(struct sink *sink, const unsigned char *body, size_t size, GMimeContentEncoding encoding)
{
    const unsigned char *encoded = body;
    GMimeEncoding decoder;

    if (encoding == GMIME_CONTENT_ENCODING_UUENCODE)
        encoded = after_uu_begin(body, size);
    g_mime_encoding_init_decode(&decoder, encoding);
    if (encoded == NULL ||
        (encoding != GMIME_CONTENT_ENCODING_BASE64 && encoding != GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE &&
         encoding != GMIME_CONTENT_ENCODING_UUENCODE))
        sink_take(sink, body, size);
    else
        stream(sink, &decoder, encoded, size - (size_t)(encoded - body));
}

void decode_content(const unsigned char *body, size_t size, GMimeContentEncoding encoding, struct decoded_part *part,
                    GByteArray *text)
{
    struct sink sink = {.sha256 = g_checksum_new(G_CHECKSUM_SHA256), .text = text};
    gsize length = sizeof(part->sha256);

    decode(&sink, body, size, encoding);
    g_checksum_get_digest(sink.sha256, part->sha256, &length);
    g_checksum_free(sink.sha256);
    part->size = sink.size;
}
