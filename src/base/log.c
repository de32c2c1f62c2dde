/* SPDX-License-Identifier: ISC
 *
 * One line per event, to syslog and, with -v, to a descriptor. */
#include "base/log.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { LINE_LIMIT = 2000 };

static const struct {
    const char *name;
    const char *prefix; /* in syslog, as Postfix writes it */
    int priority;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", "error: ", LOG_ERR},
    [LOG_LEVEL_WARNING] = {"warning", "warning: ", LOG_WARNING},
    [LOG_LEVEL_INFO] = {"info", "", LOG_INFO},
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

/* Whether a character is safe to show: not a control character, not one that changes text direction or joins invisibly
 * (bidi controls, tags, zero-width characters), and not private use. */
static bool is_plain(gunichar c)
{
    switch (g_unichar_type(c)) {
    case G_UNICODE_CONTROL:
    case G_UNICODE_FORMAT:
    case G_UNICODE_UNASSIGNED:
    case G_UNICODE_PRIVATE_USE:
    case G_UNICODE_SURROGATE:
    case G_UNICODE_LINE_SEPARATOR:
    case G_UNICODE_PARAGRAPH_SEPARATOR:
        return false;
    default:
        break;
    }
    /* letters and marks by type, but invisible: fillers, the grapheme joiner, variation selectors */
    return c != 0x034f && c != 0x115f && c != 0x1160 && c != 0x3164 && c != 0xffa0 && (c < 0xe0100 || c > 0xe01ef);
}

/* Length of the UTF-8 character at text; 0 if it is not valid or must be escaped. */
static size_t plain_length(const char *text)
{
    gunichar c = g_utf8_get_char_validated(text, -1);
    if (c == (gunichar)-1 || c == (gunichar)-2 || !is_plain(c))
        return 0;
    return g_utf8_skip[(unsigned char)*text];
}

/* What to escape in addition to unsafe characters. */
enum context {
    OF_LINE,   /* nothing: its parts are already escaped */
    OF_OUTPUT, /* the backslash */
    OF_TEXT, /* anything that looks like a field of the log line, except uid= and mailbox=, which are part of this text */
    OF_FIELD, /* the same, and anything that could end the field */
};

/* Whether the '=' at `at` completes what looks like the name of a log field. */
static bool ends_name(const char *text, const char *at, enum context context)
{
    static const char *const names[] = {"message-id", "to",   "account", "size",  "delay", "delays", "dsn",
                                        "status",     "from", "orig_to", "relay", "uid",   "mailbox"};
    size_t count = sizeof(names) / sizeof(*names) - (context == OF_TEXT ? 2 : 0);
    const char *name = at;
    while (name > text && (g_ascii_isalnum(name[-1]) || name[-1] == '-' || name[-1] == '_'))
        name--;
    for (size_t i = 0; i < count; i++)
        if ((size_t)(at - name) == strlen(names[i]) && memcmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_structure(const char *text, const char *at, enum context context)
{
    if (context < OF_TEXT)
        return false;
    if (context == OF_FIELD && (*at == '<' || *at == '>' || (*at == ' ' && at > text && at[-1] == ',')))
        return true;
    return *at == '=' && ends_name(text, at, context);
}

/* Returns whether all of the text fitted. */
static bool escape(const char *text, char *out, size_t size, enum context context)
{
    const char *start = text;
    size_t used = 0;
    while (*text) {
        char piece[8];
        size_t length = is_structure(start, text, context) ? 0 : plain_length(text);
        size_t step = length > 0 ? length : 1;
        if (length == 0)
            length = (size_t)snprintf(piece, sizeof(piece), "\\%03o", (unsigned)(unsigned char)*text);
        else if (context != OF_LINE && *text == '\\')
            length = (size_t)snprintf(piece, sizeof(piece), "\\\\");
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

#define ESCAPE_FUNCTION(function, context) \
    const char *function(const char *text, char *out, size_t size) \
    { \
        if (size > 0) \
            (void)escape(text, out, size, context); \
        return out; \
    }

ESCAPE_FUNCTION(log_escape, OF_OUTPUT)
ESCAPE_FUNCTION(log_escape_field, OF_FIELD)
ESCAPE_FUNCTION(log_escape_text, OF_TEXT)

static void write_copy(enum log_level level, const char *line)
{
    char text[LINE_LIMIT + 64];
    int length = snprintf(text, sizeof(text), "oncedrop[%ld]: %s: %s\n", (long)getpid(), levels[level].name, line);
    /* A single write, so that lines of several processes do not mix. Mail must not stop because the log cannot be
     * written. */
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

OD_PRINTF(2, 0)
static void write_line(enum log_level level, const char *format, va_list arguments)
{
    int kept = errno;
    char raw[LINE_LIMIT + 2] = "";
    char line[LINE_LIMIT + 1];
    if (level > limit)
        return;
    if (vsnprintf(raw, sizeof(raw), format, arguments) < 0)
        (void)snprintf(raw, sizeof(raw), "%s", format);
    if (!escape(raw, line, sizeof(line), OF_LINE)) {
        (void)escape(raw, line, sizeof(line) - strlen("..."), OF_LINE);
        memcpy(line + strlen(line), "...", sizeof("..."));
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

/* For log_last. Published as a whole, since a signal may arrive at any time. */
static struct kept {
    char syslog_head[64], copy_head[64];
    size_t count;
    char *lines[];
} *volatile kept;

static void free_kept(struct kept *it)
{
    for (size_t i = 0; it != NULL && i < it->count; i++)
        base_free(&it->lines[i]);
    base_free(&it);
}

void log_keep(const char *const *lines, size_t count)
{
    struct kept *old = kept, *it = NULL;
    char when[32], line[LINE_LIMIT + 1];
    time_t now = time(NULL);
    struct tm tm;
    if (count > 0) {
        it = base_alloc(sizeof(*it) + count * sizeof(it->lines[0]));
        it->count = count;
        /* as syslog(3) sends it; daemons use their own clock */
        strftime(when, sizeof(when), "%b %e %T", localtime_r(&now, &tm));
        snprintf(it->syslog_head, sizeof(it->syslog_head), "<%d>%s oncedrop[%ld]: ", LOG_MAIL | LOG_INFO, when,
                 (long)getpid());
        snprintf(it->copy_head, sizeof(it->copy_head), "oncedrop[%ld]: info: ", (long)getpid());
    }
    for (size_t i = 0; i < count; i++) {
        (void)escape(lines[i], line, sizeof(line), OF_LINE);
        it->lines[i] = base_strdup(line);
    }
    kept = it;
    free_kept(old);
}

/* Writes all the parts in one call. In a signal handler that has to end the process: a line that nobody reads is dropped.
 * It fits into PIPE_BUF, so it does not block once there is room (pipe(7)). */
static void write_last(int fd, const char *head, const char *line, const char *end, const char *line_end)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    const char *const parts[] = {head, line, end, line_end};
    struct iovec pieces[4];
    for (size_t i = 0; i < 4; i++)
        pieces[i] = (struct iovec){.iov_base = (char *)(uintptr_t)parts[i], .iov_len = strlen(parts[i])};
    if (poll(&ready, 1, 0) != 1 || writev(fd, pieces, 4) < 0)
        return;
}

static int connect_syslog(void)
{
    static const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        base_close(&fd);
    return fd;
}

void log_last(const char *end)
{
    const struct kept *it = kept;
    if (it == NULL || limit < LOG_LEVEL_INFO)
        return;
    int fd = use_syslog ? connect_syslog() : -1;
    for (size_t i = 0; i < it->count; i++) {
        if (fd >= 0)
            write_last(fd, it->syslog_head, it->lines[i], end, "");
        if (copy_fd >= 0)
            write_last(copy_fd, it->copy_head, it->lines[i], end, "\n");
    }
    base_close(&fd);
}
