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
    char *line = g_strndup(text, strcspn(text, "\n"));
    bool begins = mbox_from_is(line);
    if (begins) {
        mbox_from_read(line, &from);
        begins = from.kind != MBOX_FROM_PROSE;
        mbox_from_clear(&from);
    }
    g_free(line);
    return begins;
}

/* As in the scan, CR alone ends no line. */
static const char *skip_line_end(const char *text)
{
    const char *behind = text + strspn(text, "\r");
    return behind[0] == '\n' ? behind + 1 : text;
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
    /* if a body ends without a line end, one was added; the other belongs to the empty line */
    const char *line = skip_line_end(next + 1);
    bool at_line = line > next + 1 || next[0] == '\n';
    line = skip_line_end(line);
    int64_t behind = body + length + (line - (next + 1));
    return behind == status.st_size || (at_line && begins_message(line));
}

int64_t mbox_length_read(const char *text)
{
    guint64 length;
    char *number = g_strstrip(g_strdup(text));
    bool good = g_ascii_string_to_unsigned(number, 10, 0, G_MAXINT64, &length, NULL);
    g_free(number);
    return good ? (int64_t)length : -1;
}
