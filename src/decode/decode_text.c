/* SPDX-License-Identifier: ISC
 *
 * Converts to UTF-8 that a database accepts. An invalid byte loses no others. */
#include <errno.h>
#include <string.h>

#include "decode/decode_internal.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Returns a new string: the bytes as UTF-8 without NUL, U+FFFD for invalid ones, cut at a character boundary. */
static char *sanitize_some(const char *bytes, size_t length, size_t max)
{
    /* a character cut here begins at max or later */
    g_autofree char *text = g_utf8_make_valid(bytes, (gssize)MIN(length, max + 3));
    size_t end = strlen(text);

    if (end > max)
        for (end = max; end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80; end--)
            ;
    return base_strndup(text, end);
}

char *decode_copy(const char *text)
{
    return text != NULL && *text ? g_utf8_make_valid(text, -1) : NULL;
}

char *decode_take(char *text)
{
    char *copy = decode_copy(text);

    g_free(text);
    return copy;
}

/* Always makes progress: without input it skips nothing, even if iconv(3) fails (glibc: EILSEQ for an escape at the
 * end). */
static void convert_some(GIConv converter, char **in, size_t *left, GString *out)
{
    char buffer[4096];
    char *to = buffer;
    size_t room = sizeof(buffer), before = *left;
    bool failed = g_iconv(converter, in, left, &to, &room) == (size_t)-1;
    bool full = failed && errno == E2BIG && *left < before;

    g_string_append_len(out, buffer, to - buffer);
    if (*left > 0 && !full) {
        g_string_append(out, REPLACEMENT);
        (*in)++;
        (*left)--;
    }
}

/* Writes what the converter holds: at most one character. */
static void flush(GIConv converter, GString *out)
{
    char buffer[64];
    char *to = buffer;
    size_t room = sizeof(buffer);

    (void)g_iconv(converter, NULL, NULL, &to, &room);
    g_string_append_len(out, buffer, to - buffer);
}

static bool convert(GString *out, const char *bytes, size_t length, const char *charset, size_t max)
{
    GIConv converter = g_iconv_open("UTF-8", charset);
    char *in;

    if (converter == (GIConv)-1)
        return false;
    memcpy(&in, &bytes, sizeof(in)); /* iconv(3) only reads it */
    while (length > 0 && out->len < max)
        convert_some(converter, &in, &length, out);
    if (length == 0)
        flush(converter, out);
    g_iconv_close(converter);
    return true;
}

/* Checks max bytes; a character may be cut there. */
static bool is_utf8(const char *bytes, size_t length, size_t max)
{
    if (length == 0)
        return true;
    const char *end = bytes + (length < max ? length : max), *bad = bytes;
    while (!g_utf8_validate(bytes, end - bytes, &bad) && *bad == '\0')
        bytes = bad + 1;
    return bad == end || (length > max && end - bad < 4 && g_utf8_get_char_validated(bad, end - bad) == (gunichar)-2);
}

char *decode_to_utf8(const char *bytes, size_t length, const char *charset, size_t max)
{
    if (length == 0) /* NULL is allowed */
        return base_strdup("");
    g_autoptr(GString) converted = g_string_new(NULL);
    const char *name = charset != NULL ? decode_charset(charset) : NULL;
    bool as_is = name != NULL && strcmp(name, "UTF-8") == 0;

    if (!as_is && (name == NULL || !convert(converted, bytes, length, name, max)))
        as_is = is_utf8(bytes, length, max) || !convert(converted, bytes, length, "windows-1252", max);
    return as_is ? sanitize_some(bytes, length, max) : sanitize_some(converted->str, converted->len, max);
}
