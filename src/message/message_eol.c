/* SPDX-License-Identifier: ISC */
#include "message/message_internal.h"

#include <string.h>

static const unsigned char from_line[] = ">From ";

#define FROM_LINE_LENGTH (sizeof(from_line) - 1)

size_t message_eol_end(struct message_eol *eol, unsigned char *out)
{
    size_t held = eol->matched - eol->start;

    if (eol->state != MESSAGE_EOL_FIRST_LINE)
        return 0;
    memcpy(out, from_line + eol->start, held);
    eol->state = MESSAGE_EOL_REST;
    return held;
}

/* Returns true if the byte matches a From_ line: it is held back or dropped. */
static bool match_from_line(struct message_eol *eol, unsigned char byte)
{
    if (eol->matched == 0 && byte == 'F')
        eol->start = eol->matched = 1;
    if (byte != from_line[eol->matched])
        return false;
    if (++eol->matched == FROM_LINE_LENGTH)
        eol->state = MESSAGE_EOL_FROM_LINE;
    return true;
}

static void copy_without_nul(unsigned char *out, const unsigned char *in, size_t size)
{
    unsigned char *end = out + size;

    memcpy(out, in, size);
    while ((out = memchr(out, '\0', (size_t)(end - out))) != NULL)
        *out++ = 0x80;
}

static size_t copy_lines(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out)
{
    unsigned char *start = out;

    while (size > 0) {
        const unsigned char *lf = memchr(in, '\n', size);
        size_t length = lf != NULL ? (size_t)(lf - in) : size;

        copy_without_nul(out, in, length);
        out += length;
        if (length > 0)
            eol->after_cr = in[length - 1] == '\r';
        if (lf == NULL)
            break;
        if (!eol->after_cr)
            *out++ = '\r';
        *out++ = '\n';
        eol->after_cr = false;
        in = lf + 1;
        size -= length + 1;
    }
    return (size_t)(out - start);
}

size_t message_eol_feed(struct message_eol *eol, const unsigned char *in, size_t size, unsigned char *out)
{
    const unsigned char *end = in + size;
    size_t n = 0;

    while (in < end && eol->state == MESSAGE_EOL_FIRST_LINE) {
        if (match_from_line(eol, *in))
            in++;
        else
            n = message_eol_end(eol, out);
    }
    if (in < end && eol->state == MESSAGE_EOL_FROM_LINE) {
        const unsigned char *lf = memchr(in, '\n', (size_t)(end - in));

        if (lf == NULL)
            return n;
        eol->state = MESSAGE_EOL_REST;
        in = lf + 1;
    }
    return n + copy_lines(eol, in, (size_t)(end - in), out + n);
}
