/* SPDX-License-Identifier: ISC
 *
 * Checks what follows the end of a body according to Content-Length. */
#include "replay/replay_mbox_length.h"

#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/replay_mbox_from.h"

#define NEXT_LINE 512 /* how much of that line is examined */

static bool begins_message(const char *text)
{
    struct mbox_from from;
    if (!g_str_has_prefix(text, "From "))
        return false;
    char *line = g_strndup(text, strcspn(text, "\r\n"));
    mbox_from_read(line, &from);
    bool begins = from.kind != MBOX_FROM_PROSE;
    mbox_from_clear(&from);
    g_free(line);
    return begins;
}

bool mbox_length_fits(int fd, int64_t body, int64_t length)
{
    char next[NEXT_LINE] = "";
    struct stat status;
    if (fstat(fd, &status) != 0 || length > status.st_size - body)
        return false;
    /* includes the byte before, which belongs at least to the header */
    ssize_t n = pread(fd, next, sizeof(next) - 1, body + length - 1);
    if (n < 1)
        return false;
    /* if a body ends without a line end, one was added */
    size_t line_ends = strspn(next + 1, "\r\n");
    const char *line = next + 1 + line_ends;
    if (line_ends > 4 || (line_ends == 0 && next[0] != '\n' && line < next + n))
        return false;
    return line == next + n || begins_message(line);
}

int64_t mbox_length_read(const char *text)
{
    guint64 length;
    char *number = g_strstrip(g_strdup(text));
    bool good = g_ascii_string_to_unsigned(number, 10, 0, G_MAXINT64, &length, NULL);
    g_free(number);
    return good ? (int64_t)length : -1;
}
