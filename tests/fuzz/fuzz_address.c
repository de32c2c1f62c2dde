/* SPDX-License-Identifier: ISC
 *
 * Envelope addresses and the template for accounts: parsing loses nothing, parsing the result gives the same result,
 * and a template gives the same as plain replacement. */
#include "fuzz.h"

#include <glib.h>

#include "route/route.h"

static bool is_lower(const char *text)
{
    for (; *text; text++)
        if (*text >= 'A' && *text <= 'Z')
            return false;
    return true;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

static void check_parts(const char *text, const struct address *parsed)
{
    struct address again OD_CLEANUP(address_clear) = {.address = NULL};
    struct error error;

    FUZZ_CHECK(parsed->address[0] != '\0' && parsed->user[0] != '\0' && strlen(parsed->address) <= strlen(text));
    FUZZ_CHECK(is_lower(parsed->address) && is_lower(parsed->user) && is_lower(parsed->domain));
    FUZZ_CHECK(!has_control(parsed->address) && !has_control(parsed->detail));
    FUZZ_CHECK(g_utf8_validate(parsed->address, -1, NULL) && g_utf8_validate(parsed->detail, -1, NULL));
    FUZZ_CHECK(strchr(parsed->domain, '@') == NULL);
    FUZZ_CHECK(strlen(parsed->user) + strlen(parsed->detail) + strlen(parsed->domain) <= strlen(text));
    if (!address_parse(parsed->address, &again, &error))
        return; /* "<" and ">" or quotes around it, blanks: what is not an address any more reaches no account */
    FUZZ_CHECK(strcmp(again.domain, parsed->domain) == 0 || strpbrk(parsed->address, "<> \t\"") != NULL);
}

/* What is recorded instead of an arbitrary address. */
static void check_clean(const char *text)
{
    char *clean OD_CLEANUP(base_free) = address_clean(text), *again OD_CLEANUP(base_free) = address_clean(clean);

    FUZZ_CHECK(g_utf8_validate(clean, -1, NULL) && !has_control(clean) && strlen(clean) <= 3 * strlen(text));
    FUZZ_CHECK(strcmp(again, clean) == 0);
    FUZZ_CHECK(has_control(text) || !g_utf8_validate(text, -1, NULL) || strcmp(clean, text) == 0);
}

/* Replaces %{name} by its value; values are not expanded again. */
static char *reference_expand(const char *template, const struct address *address)
{
    const char *const pairs[][2] = {
        {"%%", "%"},
        {"%{address}", address->address},
        {"%{user}", address->user},
        {"%{domain}", address->domain},
        {"%{detail}", address->detail},
    };
    GString *out = g_string_new(NULL);

    while (*template) {
        size_t i = 0;

        while (i < G_N_ELEMENTS(pairs) && !g_str_has_prefix(template, pairs[i][0]))
            i++;
        if (i == G_N_ELEMENTS(pairs) && *template == '%') {
            g_string_free(out, TRUE);
            return NULL;
        }
        if (i < G_N_ELEMENTS(pairs))
            g_string_append(out, pairs[i][1]);
        else
            g_string_append_c(out, *template);
        template += i < G_N_ELEMENTS(pairs) ? strlen(pairs[i][0]) : 1;
    }
    return g_string_free(out, FALSE);
}

/* The input is an address, a line end, a template. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text OD_CLEANUP(base_free) = fuzz_string(bytes, size);
    struct address address OD_CLEANUP(address_clear) = {.address = NULL};
    char *end = strchr(text, '\n');
    const char *template = end != NULL ? end + 1 : NULL;
    struct error error = {.text = ""};

    if (end != NULL)
        *end = '\0';
    check_clean(text);
    if (!address_parse(text, &address, &error)) {
        FUZZ_CHECK(error.text[0] != '\0' && !has_control(error.text) && address.address == NULL);
        return 0;
    }
    check_parts(text, &address);
    if (template != NULL) {
        char *account OD_CLEANUP(base_free) = address_expand(template, &address, &error);
        char *expected OD_CLEANUP(base_free) = reference_expand(template, &address);
        char *checked OD_CLEANUP(base_free) = address_expand(template, NULL, &error);

        FUZZ_CHECK((account == NULL) == (expected == NULL) && (checked == NULL) == (expected == NULL));
        FUZZ_CHECK(account == NULL || strcmp(account, expected) == 0);
    }
    return 0;
}
