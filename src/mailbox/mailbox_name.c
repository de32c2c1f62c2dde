/* SPDX-License-Identifier: ISC
 *
 * Not every iconv(3) has modified UTF-7. */
#include "mailbox/mailbox.h"

#include <glib.h>
#include <string.h>

#define NAME_MAX_BYTES 1000

/* Adds UTF-16 in base64, ',' for '/', no padding. */
static void add_run(GString *out, const char *run, size_t length)
{
    glong units;
    g_autofree gunichar2 *wide = g_utf8_to_utf16(run, (glong)length, NULL, &units, NULL);
    for (glong i = 0; i < units; i++)
        wide[i] = GUINT16_TO_BE(wide[i]);
    g_autofree char *encoded = g_base64_encode((const guchar *)wide, (gsize)units * sizeof(*wide));
    g_strdelimit(encoded, "/", ',');
    g_string_append_printf(out, "&%.*s-", (int)strcspn(encoded, "="), encoded);
}

static char *encode(const char *name)
{
    GString *out = g_string_new(NULL);
    while (*name != '\0') {
        size_t length = 0;
        while ((unsigned char)name[length] >= 0x80)
            length++;
        if (length > 0)
            add_run(out, name, length);
        else
            g_string_append_printf(out, "%c%s", *name, *name == '&' ? "-" : "");
        name += length > 0 ? length : 1;
    }
    return g_string_free(out, FALSE);
}

char *mailbox_name_encode(const char *name, struct error *error)
{
    size_t length = strlen(name);
    const char *wrong = NULL;
    if (length == 0)
        wrong = "is empty";
    else if (length > NAME_MAX_BYTES)
        wrong = "is longer than 1000 bytes";
    else if (!g_utf8_validate(name, (gssize)length, NULL))
        wrong = "is not valid UTF-8";
    for (const char *p = name; wrong == NULL && *p != '\0'; p += g_utf8_skip[(unsigned char)*p])
        if (g_unichar_iscntrl(g_utf8_get_char(p)))
            wrong = "has a control character";
    if (wrong != NULL) {
        error_set(error, "mailbox name %.200s %s", name, wrong);
        return NULL;
    }
    return encode(name);
}
