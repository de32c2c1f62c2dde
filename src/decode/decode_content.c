/* SPDX-License-Identifier: ISC
 *
 * The content of a part: decoded from its transfer encoding and hashed in one pass. */
#include <string.h>

#include "decode/decode_internal.h"

#define CHUNK_SIZE ((size_t)1 << 16)
#define RAW_TEXT_MAX (4 * DECODE_TEXT_MAX) /* UTF-16 takes two bytes for one of UTF-8, escapes more */

/* What follows the line "begin MODE NAME"; NULL if there is no such line. */
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

void decode_content(struct decode_span body, GMimeContentEncoding encoding, struct decoded_part *part, GByteArray *text)
{
    const unsigned char *begin = encoding == GMIME_CONTENT_ENCODING_UUENCODE ? after_uu_begin(body) : body.start;
    GChecksum *sha256 = g_checksum_new(G_CHECKSUM_SHA256);
    gsize length = sizeof(part->sha256);
    GMimeEncoding decoder;

    /* without an encoding, bytes are passed on as they are */
    g_mime_encoding_init_decode(&decoder, begin != NULL ? encoding : GMIME_CONTENT_ENCODING_DEFAULT);
    char *out OD_CLEANUP(base_free) = base_alloc(g_mime_encoding_outlen(&decoder, CHUNK_SIZE));
    for (const unsigned char *at = begin != NULL ? begin : body.start; at < body.end;) {
        size_t taken = MIN((size_t)(body.end - at), CHUNK_SIZE);
        size_t made = g_mime_encoding_step(&decoder, (const char *)at, taken, out);

        at += taken;
        part->size += (int64_t)made;
        g_checksum_update(sha256, (const guchar *)out, (gssize)made);
        if (text != NULL)
            g_byte_array_append(text, (const guint8 *)out, (guint)MIN(made, RAW_TEXT_MAX - text->len));
    }
    g_checksum_get_digest(sha256, part->sha256, &length);
    g_checksum_free(sha256);
}
