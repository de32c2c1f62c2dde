/* SPDX-License-Identifier: ISC */
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
    const char *prefix; /* in syslog, like Postfix */
    int priority;
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", "error: ", LOG_ERR},
    [LOG_LEVEL_WARNING] = {"warning", "warning: ", LOG_WARNING},
    [LOG_LEVEL_INFO] = {"info", "", LOG_INFO},
    [LOG_LEVEL_DEBUG] = {"debug", "debug: ", LOG_DEBUG},
};

static enum log_format copy_format = LOG_FORMAT_TEXT;
static enum log_level limit = LOG_LEVEL_WARNING;
static bool use_syslog = true;
static bool syslog_opened;
static int copy_fd = -1;

void log_open(enum log_to to, enum log_format format, enum log_level level, bool verbose, int stderr_fd)
{
    limit = verbose && level < LOG_LEVEL_DEBUG ? level + 1 : level;
    use_syslog = to == LOG_TO_SYSLOG || stderr_fd < 0;
    copy_format = format;
    copy_fd = verbose || to == LOG_TO_STDERR ? stderr_fd : -1;
}

static bool copies_json(void)
{
    return copy_fd >= 0 && copy_format == LOG_FORMAT_JSON;
}

static void write_syslog(enum log_level level, const char *line)
{
    if (!syslog_opened)
        openlog("oncedrop", LOG_PID, LOG_MAIL);
    syslog_opened = true;
    syslog(LOG_MAIL | levels[level].priority, "%s%s", levels[level].prefix, line);
}

/* line: for text; members and message: for JSON. */
static void write_copy(enum log_level level, const char *line, const char *members, const char *message)
{
    char text[LOG_JSON_MAX];
    size_t length = copy_format == LOG_FORMAT_JSON ? log_line_json(levels[level].name, members, message, text)
                                                   : (size_t)snprintf(text, sizeof(text), "oncedrop[%ld]: %s: %s\n",
                                                                      (long)getpid(), levels[level].name, line);
    /* One write: lines of processes do not mix. Mail goes on without a log. */
    if (write(copy_fd, text, length) < 0)
        return;
}

static void make_line(const char *raw, char line[LINE_LIMIT + 1])
{
    if (raw[log_escape_as(LOG_ESCAPE_LINE, raw, line, LINE_LIMIT + 1)] == '\0')
        return;
    (void)log_escape_as(LOG_ESCAPE_LINE, raw, line, LINE_LIMIT + 1 - strlen("..."));
    memcpy(line + strlen(line), "...", sizeof("..."));
}

OD_PRINTF(2, 0)
static void write_line(enum log_level level, const char *format, va_list arguments)
{
    int before = errno;
    char raw[LINE_LIMIT + 2] = "";
    char line[LINE_LIMIT + 1];
    if (vsnprintf(raw, sizeof(raw), format, arguments) < 0)
        (void)snprintf(raw, sizeof(raw), "%s", format);
    make_line(raw, line);
    if (use_syslog)
        write_syslog(level, line);
    if (copy_fd >= 0)
        write_copy(level, line, "", line);
    errno = before;
}

#define LOG_FUNCTION(function, level) \
    void function(const char *format, ...) \
    { \
        va_list arguments; \
        va_start(arguments, format); \
        if ((level) <= limit || (level) == LOG_LEVEL_DEBUG) \
            write_line(level, format, arguments); \
        va_end(arguments); \
    }

LOG_FUNCTION(log_error, LOG_LEVEL_ERROR)
LOG_FUNCTION(log_warning, LOG_LEVEL_WARNING)
LOG_FUNCTION(log_info, LOG_LEVEL_INFO)
LOG_FUNCTION(log_debug, LOG_LEVEL_DEBUG)

bool log_shows_debug(void)
{
    return limit >= LOG_LEVEL_DEBUG;
}

void log_fields(const struct log_line *line, const char *text)
{
    int before = errno;
    char escaped[LINE_LIMIT + 1], shown[LINE_LIMIT + 1];
    if (limit < LOG_LEVEL_INFO)
        return;
    char *fields OD_CLEANUP(base_free) = log_line_text(line);
    char *members OD_CLEANUP(base_free) = copies_json() ? log_line_members(line) : NULL;
    char *raw OD_CLEANUP(base_free) = base_printf("%s (%s)", fields, log_escape_text(text, escaped, sizeof(escaped)));
    make_line(raw, shown);
    if (use_syslog)
        write_syslog(LOG_LEVEL_INFO, shown);
    if (copy_fd >= 0)
        write_copy(LOG_LEVEL_INFO, shown, members, text);
    errno = before;
}

/* A line for log_last, up to its text. */
struct kept_line {
    char *text;
    char *object; /* starts after the time; NULL: the copy is text */
};

/* Replaced as one pointer: a signal may arrive at any time. */
static struct kept {
    char syslog_head[64], copy_head[64];
    size_t count;
    struct kept_line lines[];
} *volatile kept;

static void free_kept(struct kept *it)
{
    for (size_t i = 0; it != NULL && i < it->count; i++) {
        base_free(&it->lines[i].text);
        base_free(&it->lines[i].object);
    }
    base_free(&it);
}

static void make_heads(struct kept *it)
{
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    strftime(when, sizeof(when), "%b %e %T", localtime_r(&now, &tm));
    snprintf(it->syslog_head, sizeof(it->syslog_head), "<%d>%s oncedrop[%ld]: ", LOG_MAIL | LOG_INFO, when,
             (long)getpid());
    snprintf(it->copy_head, sizeof(it->copy_head), "oncedrop[%ld]: info: ", (long)getpid());
}

static struct kept_line keep_line(const struct log_line *line)
{
    char *fields OD_CLEANUP(base_free) = log_line_text(line);
    struct kept_line kept_line = {.text = base_printf("%s (", fields)};
    if (copies_json()) {
        char *members OD_CLEANUP(base_free) = log_line_members(line);
        kept_line.object = base_printf("\",\"level\":\"info\",\"pid\":%ld%s,\"message\":\"", (long)getpid(), members);
    }
    return kept_line;
}

void log_keep(const struct log_line *lines, size_t count)
{
    struct kept *old = kept, *it = NULL;
    if (count > 0) {
        it = base_alloc(sizeof(*it) + count * sizeof(it->lines[0]));
        it->count = count;
        make_heads(it);
    }
    for (size_t i = 0; i < count; i++)
        it->lines[i] = keep_line(&lines[i]);
    kept = it;
    free_kept(old);
}

#define PARTS 5

/* Writes the parts in one call; drops an unread line, since the process must end. A line within PIPE_BUF does not
 * block once there is room (pipe(7)). */
static void write_last(int fd, const char *const parts[PARTS])
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    struct iovec pieces[PARTS];
    for (size_t i = 0; i < PARTS; i++)
        pieces[i] = (struct iovec){.iov_base = (char *)(uintptr_t)parts[i], .iov_len = strlen(parts[i])};
    if (poll(&ready, 1, 0) != 1 || writev(fd, pieces, PARTS) < 0)
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

static void write_last_object(const struct kept_line *line, const char *text)
{
    char when[LOG_TIME_SIZE];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    log_time(&now, when);
    write_last(copy_fd, (const char *const[]){"{\"time\":\"", when, line->object, text, "\"}\n"});
}

void log_last(const char *text)
{
    const struct kept *it = kept;
    if (it == NULL || limit < LOG_LEVEL_INFO)
        return;
    int fd = use_syslog ? connect_syslog() : -1;
    for (size_t i = 0; i < it->count; i++) {
        if (fd >= 0)
            write_last(fd, (const char *const[]){it->syslog_head, it->lines[i].text, text, ")", ""});
        if (copies_json() && it->lines[i].object != NULL)
            write_last_object(&it->lines[i], text);
        else if (copy_fd >= 0)
            write_last(copy_fd, (const char *const[]){it->copy_head, it->lines[i].text, text, ")", "\n"});
    }
    base_close(&fd);
}
