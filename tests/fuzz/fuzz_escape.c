/* SPDX-License-Identifier: ISC
 *
 * Text of strangers in the log: one field of a line stays one, shows nothing that is not printable, and tells what was
 * there, byte for byte, as far as there is room. */
#include "fuzz.h"

#include <glib.h>

#include "base/log.h"
#include "base/terminal.h"

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

        FUZZ_CHECK(type != G_UNICODE_CONTROL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    size_t room = 1 + fuzz_option(&input) + 16 * (size_t)fuzz_option(&input);
    OD_CLEANUP(base_free) char *text = fuzz_string(input.bytes, input.size);
    OD_CLEANUP(base_free) char *out = base_alloc(room);
    OD_CLEANUP(base_free) char *back = NULL;
    struct fault fault;

    FUZZ_CHECK(log_escape(text, out, room) == out && memchr(out, '\0', room));
    check_shown(out);
    back = unescape(out);
    FUZZ_CHECK(strncmp(back, text, strlen(back)) == 0);
    FUZZ_CHECK(strlen(back) == strlen(text) || strlen(out) + 16 > room);
    FUZZ_CHECK(terminal_columns(out) >= 0 && terminal_fit(out, terminal_columns(out)) == strlen(out));

    fault_set(&fault, "%s", text);
    fault_prefix(&fault, "%s", text);
    FUZZ_CHECK(memchr(fault.text, '\0', sizeof fault.text));
    for (const char *at = fault.text; *at; at++)
        FUZZ_CHECK((unsigned char)*at >= ' ' && *at != 0x7f);
    return 0;
}
