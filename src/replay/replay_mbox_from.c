/* SPDX-License-Identifier: ISC */
#include "replay/replay_internal.h"

#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT_LINE 512 /* bytes to examine after a body */

/* A sender with blanks is quoted. The date of each `git format-patch` is text: patches are sent in messages. */
#define SENDER "(?:(?:\"[^\"]*\")?\\S+ +)?"
#define NOT_GIT "(?!Mon Sep 17 00:00:00 2001)"
#define DATE \
    "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \\d]?\\d " \
    "\\d\\d:\\d\\d:\\d\\d (?:(?:[-+]\\d{4}|[A-Z]{3,5}) )?\\d{4}"

bool mbox_from_read(const char *line, int64_t *ret_time)
{
    static GRegex *regex;
    g_autoptr(GMatchInfo) info = NULL;
    int64_t seconds;
    if (regex == NULL)
        regex = g_regex_new("^" MBOX_FROM SENDER NOT_GIT "(" DATE ") *$", G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    if (!g_regex_match(regex, line, 0, &info))
        return false;
    g_autofree char *date = g_match_info_fetch(info, 1);
    *ret_time = decode_date(date, &seconds) && seconds > 0 ? seconds : 0;
    return true;
}

int64_t mbox_length_read(const char *text)
{
    guint64 length;
    g_autofree char *number = g_strstrip(g_strdup(text));
    return g_ascii_string_to_unsigned(number, 10, 0, G_MAXINT64, &length, NULL) ? (int64_t)length : -1;
}

/* CR alone ends no line. */
static const char *skip_line_end(const char *text)
{
    const char *behind = text + strspn(text, "\r");
    return behind[0] == '\n' ? behind + 1 : text;
}

bool mbox_length_fits(int fd, int64_t body, int64_t length)
{
    char next[NEXT_LINE] = "";
    struct stat status;
    int64_t time;
    /* from the byte before */
    if (length < 0 || fstat(fd, &status) != 0 || length > status.st_size - body ||
        pread(fd, next, sizeof(next) - 1, body + length - 1) < 1)
        return false;
    /* a missing line end was added to the body */
    const char *line = skip_line_end(next + 1);
    bool at_line = line > next + 1 || next[0] == '\n';
    line = skip_line_end(line);
    if (body + length + (line - (next + 1)) == status.st_size)
        return true;
    next[strcspn(line, "\r\n") + (size_t)(line - next)] = '\0';
    return at_line && mbox_from_read(line, &time);
}
