/* SPDX-License-Identifier: ISC
 *
 * Joins encoded words (RFC 2047). gmime 3.2.13 decodes adjacent words of one character set as one, up to the first
 * padding; many programs pad each word. */
#include <string.h>

#include "decode/decode_internal.h"

#define WHITE " \\t\\r\\n"
/* After the character set; perhaps a language (RFC 2231, 5). */
#define REST "(?:\\*[^?" WHITE "]*+)?\\?b\\?[^?" WHITE "]*+\\?="
/* Adjacent base64 words of one character set. */
#define WORDS "=\\?([^?*" WHITE "]++)" REST "(?:[" WHITE "]*+=\\?\\1" REST ")*+"

/* Padding may be missing, or in the middle. */
static void add_bytes(GByteArray *bytes, const char *payload)
{
    g_auto(GStrv) runs = g_strsplit(payload, "=", -1);

    for (char **run = runs; *run != NULL; run++) {
        char *padded OD_CLEANUP(base_free) = base_printf("%s==", *run); /* what is too much is ignored */
        gsize size;
        g_autofree guchar *content = g_base64_decode(padded, &size);

        g_byte_array_append(bytes, content, (guint)size);
    }
}

static gboolean join_adjacent(const GMatchInfo *found, GString *out, gpointer unused)
{
    g_autofree char *words = g_match_info_fetch(found, 0), *charset = g_match_info_fetch(found, 1);
    g_auto(GStrv) pieces = g_strsplit(words, "?", -1); /* =, character set, b, payload, = and the next =, ... */
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    (void)unused;
    for (char **piece = pieces; *piece != NULL && piece[1] != NULL; piece += 4)
        add_bytes(bytes, piece[3]);
    g_autofree char *encoded = g_base64_encode(bytes->data, bytes->len);
    g_string_append_printf(out, "=?%s?B?%s?=", charset, encoded);
    return FALSE;
}

char *decode_join_words(const char *text)
{
    static GRegex *regex;

    if (regex == NULL)
        regex = g_regex_new(WORDS, G_REGEX_CASELESS | G_REGEX_RAW, 0, NULL);
    char *joined = g_regex_replace_eval(regex, text, -1, 0, 0, join_adjacent, NULL, NULL);
    return joined != NULL ? joined : base_strdup(text);
}

char *decode_words_phrase(void *options, const char *text)
{
    char *phrase OD_CLEANUP(base_free) = g_strstrip(decode_to_utf8(text, strlen(text), NULL, 3 * DECODE_ADDRESS_MAX));

    g_mime_utils_unquote_string(phrase);
    char *joined OD_CLEANUP(base_free) = decode_join_words(phrase);
    return decode_take(g_mime_utils_header_decode_phrase(options, joined));
}
