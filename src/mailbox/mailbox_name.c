/* SPDX-License-Identifier: ISC
 *
 * Mailbox names in modified UTF-7. Implemented here because not every C library's iconv(3) has UTF-7-IMAP, and because
 * the name becomes part of a command line. */
#include "mailbox/mailbox.h"

#include <glib.h>
#include <string.h>

#define NAME_MAX_BYTES 1000

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+,";

/* A run of characters other than printable ASCII: the bits of its UTF-16 that do not make a character yet. */
struct run {
    uint32_t bits;
    int count;
};

static char *put_unit(struct run *run, char *out, uint32_t unit)
{
    run->bits = run->bits << 16 | unit;
    run->count += 16;
    while (run->count >= 6) {
        run->count -= 6;
        *out++ = alphabet[run->bits >> run->count & 63];
    }
    return out;
}

static char *end_run(struct run *run, char *out)
{
    if (run->count > 0)
        *out++ = alphabet[run->bits << (6 - run->count) & 63];
    *run = (struct run){0};
    *out++ = '-';
    return out;
}

static gunichar next_char(const char **at)
{
    gunichar c = g_utf8_get_char(*at);
    *at += g_utf8_skip[(unsigned char)**at];
    return c;
}

static char *encode(const char *name, char *out)
{
    struct run run = {0};
    bool in_run = false;
    for (const char *p = name; *p != '\0';) {
        gunichar c = next_char(&p);
        bool plain = c < 0x7f;
        if (plain && in_run)
            out = end_run(&run, out);
        if (!plain && !in_run)
            *out++ = '&';
        in_run = !plain;
        if (plain) {
            *out++ = (char)c;
            if (c == '&')
                *out++ = '-';
        } else if (c < 0x10000) {
            out = put_unit(&run, out, c);
        } else {
            out = put_unit(&run, out, 0xd800 + ((c - 0x10000) >> 10));
            out = put_unit(&run, out, 0xdc00 + ((c - 0x10000) & 0x3ff));
        }
    }
    return in_run ? end_run(&run, out) : out;
}

char *mailbox_name_encode(const char *name, struct fault *fault)
{
    size_t length = strlen(name);
    const char *wrong = NULL;
    if (length == 0)
        wrong = "is empty";
    else if (length > NAME_MAX_BYTES)
        wrong = "is longer than 1000 bytes";
    else if (!g_utf8_validate(name, (gssize)length, NULL))
        wrong = "is not valid UTF-8";
    for (const char *p = name; wrong == NULL && *p != '\0';) {
        if (g_unichar_iscntrl(next_char(&p)))
            wrong = "has a control character";
    }
    if (wrong != NULL) {
        fault_set(fault, "mailbox name %.200s %s", name, wrong);
        return NULL;
    }
    char *encoded = base_alloc(5 * length + 3); /* worst case: "&", 3 characters for 2 bytes, "-", repeatedly */
    encode(name, encoded);
    return encoded;
}
