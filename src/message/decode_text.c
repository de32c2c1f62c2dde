/* SPDX-License-Identifier: ISC
 *
 * Bytes to UTF-8 that a database takes. Nothing is lost because one byte is wrong. */
#include <errno.h>
#include <iconv.h>
#include <string.h>

#include "message/decode_internal.h"

#define REPLACEMENT "\xef\xbf\xbd"      /* U+FFFD */
#define CHARSET_NAME_MAX 64

static void scrub(GString *out, const char *bytes, size_t length, size_t max)
{
    const char *end = bytes + length, *bad;

    while (bytes < end && out->len < max) {
        if (g_utf8_validate(bytes, end - bytes, &bad))
            bad = end;
        g_string_append_len(out, bytes, bad - bytes);
        if (bad < end)
            g_string_append(out, REPLACEMENT);
        bytes = bad + 1;
    }
}

/* Moves the text out of GLib's hands, cut at a whole character. */
static char *finish(GString *text, size_t max)
{
    size_t length = text->len < max ? text->len : max;
    char *copy;

    while (length < text->len && length > 0 && ((unsigned char)text->str[length] & 0xc0) == 0x80)
        length--;
    copy = base_strndup(text->str, length);
    g_string_free(text, TRUE);
    return copy;
}

char *decode_scrub(const char *bytes, size_t length)
{
    GString *text = g_string_sized_new(length);

    scrub(text, bytes, length, SIZE_MAX);
    return finish(text, SIZE_MAX);
}

char *decode_take(char *text)
{
    char *copy = text && *text ? decode_scrub(text, strlen(text)) : NULL;

    g_free(text);
    return copy;
}

/* One round of conversion into out; false when the input's end is reached. Always gets on. */
static bool convert_some(iconv_t converter, char **in, size_t *left, GString *out)
{
    char buffer[4096];
    char *to = buffer;
    size_t room = sizeof buffer, before = *left;
    bool failed = iconv(converter, *left > 0 ? in : NULL, left, &to, &room) == (size_t)-1;
    bool full = failed && errno == E2BIG && (before > *left || room < sizeof buffer);

    g_string_append_len(out, buffer, to - buffer);
    if (before == 0)
        return full;
    if (failed && !full) {
        // an impossible or incomplete character
        g_string_append(out, REPLACEMENT);
        (*in)++;
        (*left)--;
    }
    return true;
}

static bool convert(GString *out, const char *bytes, size_t length, const char *charset, size_t max)
{
    iconv_t converter = g_mime_iconv_open("UTF-8", charset);
    char *in;

    if (converter == (iconv_t)-1)
        return false;
    memcpy(&in, &bytes, sizeof in);     // iconv(3) takes a pointer that is not const, and only reads
    while (out->len < max && convert_some(converter, &in, &length, out))
        ;
    g_mime_iconv_close(converter);
    return true;
}

/* Names with anything else in them are options to iconv_open(3), or paths. */
static bool plausible(const char *charset)
{
    size_t length = strspn(charset, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:+");

    return length > 0 && length <= CHARSET_NAME_MAX && charset[length] == '\0';
}

static bool is_one_of(const char *charset, const char *const *names)
{
    for (; *names; names++)
        if (g_ascii_strcasecmp(charset, *names) == 0)
            return true;
    return false;
}

/* Text that says nothing, or nothing believable, of its charset: UTF-8 when it is that, else what most of such is. */
static bool is_undeclared(const char *charset)
{
    static const char *const ascii[] = {"us-ascii", "ascii", "unknown-8bit", "x-unknown", NULL};

    return !charset || !plausible(charset) || is_one_of(charset, ascii);
}

/* windows-1252 is what is meant by, and contains, the printable part of this. */
static const char *meant(const char *charset)
{
    static const char *const latin1[] = {"iso-8859-1", "iso8859-1", "latin1", NULL};

    return is_one_of(charset, latin1) ? "windows-1252" : charset;
}

/* What is beyond max will not be looked at; a character may be cut there. */
static bool is_utf8(const char *bytes, size_t length, size_t max)
{
    const char *end = bytes + (length < max ? length : max), *bad = bytes;

    while (!g_utf8_validate(bytes, end - bytes, &bad) && *bad == '\0')
        bytes = bad + 1;
    return bad == end ||
           (length > max && end - bad < 4 && g_utf8_get_char_validated(bad, end - bad) == (gunichar)-2);
}

char *decode_to_utf8(const char *bytes, size_t length, const char *charset, size_t max)
{
    static const char *const utf8[] = {"utf-8", "utf8", NULL};
    GString *converted = g_string_new(NULL), *text = g_string_new(NULL);
    bool as_is = !is_undeclared(charset) && is_one_of(charset, utf8);

    if (!as_is && (is_undeclared(charset) || !convert(converted, bytes, length, meant(charset), max)))
        as_is = is_utf8(bytes, length, max) || !convert(converted, bytes, length, "windows-1252", max);
    if (as_is)
        scrub(text, bytes, length, max);
    else
        scrub(text, converted->str, converted->len, max);
    g_string_free(converted, TRUE);
    return finish(text, max);
}
