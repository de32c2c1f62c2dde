/* SPDX-License-Identifier: ISC
 *
 * Strangers' text in the log: it stays one field of a line, shows only printable characters, and preserves the text
 * byte for byte, as far as there is room. */
#include "fuzz.h"

#include <glib.h>
#include <jansson.h>

#include "base/log.h"

static char *unescape(const char *text)
{
    char *bytes = base_alloc(strlen(text) + 1), *to = bytes;

    while (*text) {
        if (text[0] != '\\') {
            *to++ = *text++;
        } else if (text[1] == '\\') {
            *to++ = '\\';
            text += 2;
        } else {
            FUZZ_CHECK(strspn(text + 1, "01234567") >= 3);
            *to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
            text += 4;
        }
    }
    return bytes;
}

static void check_shown(const char *shown)
{
    FUZZ_CHECK(g_utf8_validate(shown, -1, NULL));
    for (const char *at = shown; *at; at += g_utf8_skip[(unsigned char)*at]) {
        GUnicodeType type = g_unichar_type(g_utf8_get_char(at));

        FUZZ_CHECK(type != G_UNICODE_CONTROL && type != G_UNICODE_FORMAT && type != G_UNICODE_UNASSIGNED);
        FUZZ_CHECK(type != G_UNICODE_PRIVATE_USE && type != G_UNICODE_LINE_SEPARATOR);
        FUZZ_CHECK(type != G_UNICODE_PARAGRAPH_SEPARATOR);
    }
}

/* Nothing in it looks like another field of the line. */
static void check_field(const char *shown, bool in_parentheses)
{
    for (enum log_field_name i = LOG_FIELD_NONE + 1; i < LOG_FIELD_NAMES; i++) {
        char *field OD_CLEANUP(base_free) = base_printf("%s=", log_field_row(i)->name);

        if (in_parentheses && (i == LOG_FIELD_UID || i == LOG_FIELD_MAILBOX))
            continue;
        for (const char *at = strstr(shown, field); at != NULL; at = strstr(at + 1, field))
            FUZZ_CHECK(at > shown && (g_ascii_isalnum(at[-1]) || at[-1] == '-' || at[-1] == '_'));
    }
    FUZZ_CHECK(in_parentheses || (strpbrk(shown, "<>") == NULL && strstr(shown, ", ") == NULL));
}

static void check_escaped(const char *text, size_t room, const char *(*escape)(const char *, char *, size_t))
{
    char *out OD_CLEANUP(base_free) = base_alloc(room);
    char *back OD_CLEANUP(base_free) = NULL;

    FUZZ_CHECK(escape(text, out, room) == out && memchr(out, '\0', room) != NULL);
    check_shown(out);
    if (escape != log_escape)
        check_field(out, escape == log_escape_text);
    back = unescape(out);
    FUZZ_CHECK(strncmp(back, text, strlen(back)) == 0);
    FUZZ_CHECK(strlen(back) == strlen(text) || strlen(out) + 20 > room);
}

/* What fits is a string of JSON, and the beginning of the text. */
static void check_json(const char *text, size_t room)
{
    char *out OD_CLEANUP(base_free) = base_alloc(room);
    size_t taken = log_escape_json(text, strlen(text), out, room);
    char *literal OD_CLEANUP(base_free) = base_printf("\"%s\"", out);
    g_autofree char *valid = g_utf8_make_valid(text, (gssize)taken);
    json_t *string = json_loads(literal, JSON_DECODE_ANY, NULL);

    check_shown(out);
    FUZZ_CHECK(string != NULL && strcmp(json_string_value(string), valid) == 0);
    FUZZ_CHECK(taken == strlen(text) || strlen(out) + 12 >= room);
    json_decref(string);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    size_t room = 1 + fuzz_option(&input) + 16 * (size_t)fuzz_option(&input);
    char *text OD_CLEANUP(base_free) = fuzz_string(input.bytes, input.size);
    struct error error;

    check_escaped(text, room, log_escape);
    check_escaped(text, room, log_escape_field);
    check_escaped(text, room, log_escape_text);
    check_json(text, room);
    error_set(&error, "%s", text);
    error_prefix(&error, "%s", text);
    FUZZ_CHECK(memchr(error.text, '\0', sizeof(error.text)));
    for (const char *at = error.text; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
    return 0;
}
