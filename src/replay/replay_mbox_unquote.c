/* SPDX-License-Identifier: ISC */
#include "replay/replay.h"

#include <string.h>

#define FROM "From "

/* Appends what was held back. */
static void release(struct mbox_unquote *unquote, GString *out)
{
    for (; unquote->marks > 0; unquote->marks--)
        g_string_append_c(out, '>');
    g_string_append_len(out, FROM, (gssize)unquote->matched);
    unquote->matched = 0;
    unquote->inside = true;
}

static void take_byte(struct mbox_unquote *unquote, char byte, GString *out)
{
    if (!unquote->inside && unquote->matched == 0 && byte == '>') {
        unquote->marks++;
        return;
    }
    if (!unquote->inside && unquote->marks > 0 && byte == FROM[unquote->matched]) {
        if (FROM[++unquote->matched] != '\0')
            return;
        unquote->met = true;
        if (unquote->dialect == MBOX_RD || (unquote->dialect == MBOX_O && unquote->marks == 1))
            unquote->marks--;
        release(unquote, out);
        return;
    }
    if (!unquote->inside)
        release(unquote, out);
    g_string_append_c(out, byte);
    unquote->inside = byte != '\n';
}

void mbox_unquote_feed(struct mbox_unquote *unquote, const char *bytes, size_t size, GString *out)
{
    for (const char *end = bytes + size; bytes < end;) {
        const char *newline = unquote->inside ? memchr(bytes, '\n', (size_t)(end - bytes)) : NULL;
        if (unquote->inside) {
            const char *stop = newline != NULL ? newline + 1 : end;
            g_string_append_len(out, bytes, stop - bytes);
            unquote->inside = newline == NULL;
            bytes = stop;
        } else {
            take_byte(unquote, *bytes++, out);
        }
    }
}

void mbox_unquote_end(struct mbox_unquote *unquote, GString *out)
{
    if (!unquote->inside)
        release(unquote, out);
}
