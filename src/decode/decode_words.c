/* SPDX-License-Identifier: ISC
 *
 * Joins encoded words (RFC 2047). gmime 3.2.13 decodes adjacent words of one character set as one, up to the first
 * padding; many programs pad each word. */
#include <string.h>

#include "decode/decode_internal.h"

/* In base64. */
struct word {
    const char *charset, *payload, *end;
    size_t charset_length, payload_length;
};

static const char *after_part(const char *at)
{
    const char *end = at + strcspn(at, "? \t\r\n");

    return *end == '?' ? end + 1 : NULL;
}

static bool read_encoded_word(const char *at, struct word *ret)
{
    const char *encoding = strncmp(at, "=?", 2) == 0 ? after_part(at + 2) : NULL;
    const char *payload = encoding != NULL && strchr("Bb", *encoding) != NULL ? after_part(encoding) : NULL;
    const char *end = payload != NULL && payload - encoding == 2 ? after_part(payload) : NULL;

    if (end == NULL || *end != '=')
        return false;
    ret->charset = at + 2;
    ret->charset_length = strcspn(ret->charset, "?*"); /* without a language (RFC 2231, 5) */
    ret->payload = payload;
    ret->payload_length = (size_t)(end - 1 - payload);
    ret->end = end + 1;
    return ret->charset_length > 0;
}

static bool same_charset(const struct word *one, const struct word *other)
{
    return one->charset_length == other->charset_length &&
           g_ascii_strncasecmp(one->charset, other->charset, one->charset_length) == 0;
}

/* Padding may be missing, or in the middle. */
static void add_bytes(GByteArray *bytes, const struct word *word)
{
    char *payload OD_CLEANUP(base_free) = base_strndup(word->payload, word->payload_length);
    g_auto(GStrv) runs = g_strsplit(payload, "=", -1);

    for (char **run = runs; *run != NULL; run++) {
        char *padded OD_CLEANUP(base_free) = base_printf("%s==", *run); /* what is too much is ignored */
        gsize size;
        g_autofree guchar *content = g_base64_decode(padded, &size);

        g_byte_array_append(bytes, content, (guint)size);
    }
}

/* Joins adjacent words of one character set. Returns the position after them. */
static const char *add_joined(GString *out, const struct word *first)
{
    GByteArray *bytes = g_byte_array_new();
    struct word word = *first;
    const char *end;

    do {
        add_bytes(bytes, &word);
        end = word.end;
    } while (read_encoded_word(end + strspn(end, " \t\r\n"), &word) && same_charset(first, &word));
    char *encoded = g_base64_encode(bytes->data, bytes->len);
    g_string_append_printf(out, "=?%.*s?B?%s?=", (int)first->charset_length, first->charset, encoded);
    g_free(encoded);
    g_byte_array_unref(bytes);
    return end;
}

char *decode_join_words(const char *text)
{
    GString *out = g_string_new(NULL);

    while (*text) {
        const char *start = strstr(text, "=?");
        struct word word;

        g_string_append_len(out, text, start != NULL ? start - text : (gssize)strlen(text));
        if (start == NULL)
            break;
        if (read_encoded_word(start, &word)) {
            text = add_joined(out, &word);
        } else {
            g_string_append(out, "=?");
            text = start + 2;
        }
    }
    return g_string_free(out, FALSE);
}

char *decode_words_phrase(void *options, const char *text)
{
    char *phrase OD_CLEANUP(base_free) = g_strstrip(decode_to_utf8(text, strlen(text), NULL, 3 * DECODE_ADDRESS_MAX));

    g_mime_utils_unquote_string(phrase);
    char *joined OD_CLEANUP(base_free) = decode_join_words(phrase);
    return decode_take(g_mime_utils_header_decode_phrase(options, joined));
}
