/* SPDX-License-Identifier: ISC
 *
 * One line per event, to syslog and for -v to a descriptor. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

enum { LINE_LIMIT = 2000 };

static const struct {
    const char *name;
    const char *prefix;     /* in syslog, as Postfix writes it */
    int priority;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", "error: ", LOG_ERR},
    [LOG_LEVEL_WARNING] = {"warning", "warning: ", LOG_WARNING},
    [LOG_LEVEL_INFO] = {"info", "", LOG_INFO},
    [LOG_LEVEL_DEBUG] = {"debug", "", LOG_DEBUG},
};

static enum log_level limit = LOG_LEVEL_WARNING;
static bool use_syslog = true;
static bool syslog_opened;
static int copy_fd = -1;

void log_open(enum log_to to, enum log_level level, bool verbose, int stderr_fd)
{
    limit = verbose && level < LOG_LEVEL_DEBUG ? level + 1 : level;
    use_syslog = to == LOG_TO_SYSLOG || stderr_fd < 0;
    copy_fd = verbose || to == LOG_TO_STDERR ? stderr_fd : -1;
}

/* Bytes of the UTF-8 character at text (RFC 3629); 0 when there is none, or only a control character. */
static size_t printable_length(const unsigned char *text)
{
    unsigned char first = text[0];
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t length;

    if (first < 0x80)
        return first >= ' ' && first != 0x7f;
    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
        low = first == 0xc2 ? 0xa0 : low;       /* U+0080 to U+009F are control characters */
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        low = first == 0xe0 ? 0xa0 : low;       /* no overlong forms */
        high = first == 0xed ? 0x9f : high;     /* no surrogates */
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        low = first == 0xf0 ? 0x90 : low;
        high = first == 0xf4 ? 0x8f : high;     /* not above U+10FFFF */
    } else {
        return 0;
    }
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* Returns whether all of the text was copied. */
static bool escape(const char *text, char *out, size_t size, bool backslash)
{
    size_t used = 0;

    while (*text) {
        char piece[5];
        size_t length = printable_length((const unsigned char *)text);
        size_t step = length > 0 ? length : 1;

        if (length == 0)
            length = (size_t)snprintf(piece, sizeof piece, "\\%03o", (unsigned)(unsigned char)*text);
        else if (backslash && *text == '\\')
            length = (size_t)snprintf(piece, sizeof piece, "\\\\");
        else
            memcpy(piece, text, length);
        if (used + length >= size)
            break;
        memcpy(out + used, piece, length);
        used += length;
        text += step;
    }
    out[used] = '\0';
    return *text == '\0';
}

const char *log_escape(const char *text, char *out, size_t size)
{
    if (size > 0)
        (void)escape(text, out, size, true);
    return out;
}

static void write_copy(enum log_level level, const char *line)
{
    char text[LINE_LIMIT + 64];
    int length = snprintf(text, sizeof text, "oncedrop[%ld]: %s: %s\n", (long)getpid(), levels[level].name, line);

    /* One write, so that lines of several processes do not mix; a log that cannot be written must not stop the mail. */
    if (length > 0 && write(copy_fd, text, (size_t)length) < 0)
        return;
}

static void write_syslog(enum log_level level, const char *line)
{
    if (!syslog_opened)
        openlog("oncedrop", LOG_PID, LOG_MAIL);
    syslog_opened = true;
    syslog(LOG_MAIL | levels[level].priority, "%s%s", levels[level].prefix, line);
}

static void write_line(enum log_level level, const char *format, va_list arguments) OD_PRINTF(2, 0);

static void write_line(enum log_level level, const char *format, va_list arguments)
{
    int kept = errno;
    char raw[LINE_LIMIT + 2] = "";
    char line[LINE_LIMIT + 1];

    if (level > limit)
        return;
    if (vsnprintf(raw, sizeof raw, format, arguments) < 0)
        (void)snprintf(raw, sizeof raw, "%s", format);
    if (!escape(raw, line, sizeof line, false)) {
        (void)escape(raw, line, sizeof line - strlen("..."), false);
        memcpy(line + strlen(line), "...", sizeof "...");
    }
    if (use_syslog)
        write_syslog(level, line);
    if (copy_fd >= 0)
        write_copy(level, line);
    errno = kept;
}

#define LOG_FUNCTION(function, level) \
    void function(const char *format, ...) \
    { \
        va_list arguments; \
        va_start(arguments, format); \
        write_line(level, format, arguments); \
        va_end(arguments); \
    }

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)
