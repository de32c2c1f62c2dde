/* SPDX-License-Identifier: ISC
 *
 * Mailbox names: what goes into a command line is plain ASCII without an end of line, and iconv(3), which knows modified
 * UTF-7 of itself, reads the same name out of it. */
#include "fuzz.h"

#include <glib.h>
#include <iconv.h>

#include "mailbox/mailbox_internal.h"

/* Control characters, and what is no UTF-8, no mailbox can be called. */
static bool is_name(const char *text)
{
    if (*text == '\0' || strlen(text) > 1000 || !g_utf8_validate(text, -1, NULL))
        return false;
    for (const char *at = text; *at; at += g_utf8_skip[(unsigned char)*at])
        if (g_unichar_iscntrl(g_utf8_get_char(at)))
            return false;
    return true;
}

static void check_decoded(iconv_t converter, char *encoded, const char *name)
{
    char decoded[2048];
    char *in = encoded, *out = decoded;
    size_t left = strlen(encoded), room = sizeof(decoded);

    (void)iconv(converter, NULL, NULL, NULL, NULL);
    FUZZ_CHECK(iconv(converter, &in, &left, &out, &room) == 0 && left == 0);
    FUZZ_CHECK((size_t)(out - decoded) == strlen(name) && memcmp(decoded, name, strlen(name)) == 0);
}

/* A quoted string ends where it should, and nowhere before. */
static void check_quoted(const char *encoded)
{
    char *quoted OD_CLEANUP(base_free) = imap_quote(encoded);
    const char *at;

    FUZZ_CHECK(quoted != NULL && quoted[0] == '"');
    for (at = quoted + 1; *at != '"' && *at != '\0'; at++, encoded++) {
        at += *at == '\\';
        FUZZ_CHECK(*at == *encoded);
    }
    FUZZ_CHECK(*encoded == '\0' && at[0] == '"' && at[1] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static iconv_t converter;
    char *name OD_CLEANUP(base_free) = fuzz_string(bytes, size);
    struct error error = {.text = ""};
    char *encoded OD_CLEANUP(base_free) = mailbox_name_encode(name, &error);

    if (converter == NULL)
        converter = iconv_open("UTF-8", "UTF-7-IMAP");
    FUZZ_CHECK((encoded != NULL) == is_name(name));
    FUZZ_CHECK((encoded == NULL) == (error.text[0] != '\0'));
    if (encoded == NULL)
        return 0;
    for (const char *at = encoded; *at; at++)
        FUZZ_CHECK(*at >= ' ' && *at <= '~');
    check_quoted(encoded);
    if (converter != (iconv_t)-1) /* glibc before 2.36 does not know it */
        check_decoded(converter, encoded, name);
    return 0;
}
