/* SPDX-License-Identifier: ISC
 *
 * Writers of mboxrd and mboxo quote each line of text that begins with "From ", so that a line without '>' begins a
 * message, or the file is of another kind. */

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message/message_field.h"
#include "replay/replay.h"

#define MBOX_FROM "From "
#define LINE_START 512 /* bytes of a line to examine */
#define NEXT_LINE 512  /* bytes to examine after a body */
#define BOM "\xef\xbb\xbf"
#define MMDF "\001\001\001\001"
#define EUDORA MBOX_FROM "???@\?\?\? "

struct scan {
    int fd;
    bool by_length; /* mboxcl2 */
    GArray *messages;
    char start[LINE_START + 1]; /* of the current line */
    size_t start_length;
    int64_t line_at; /* offset */
    size_t line_number;
    size_t blank_size; /* of the empty line before, with its end; 0: none */
    enum { BEFORE_MESSAGES, BEHIND_FROM, IN_HEADER, IN_BODY } part;
    size_t lengths;         /* Content-Length fields of the current message's header */
    int64_t content_length; /* the last of them */
    int64_t body_until;     /* end of the body by Content-Length, if it fits; else 0 */
    bool not_mbox, failed;
    struct error *error;
};

/* A sender with blanks is quoted. The date of each `git format-patch` is text: patches are sent in messages. */
#define SENDER "(?:(?:\"[^\"]*\")?\\S+ +)?"
#define NOT_GIT "(?!Mon Sep 17 00:00:00 2001)"
#define DATE \
    "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \\d]?\\d " \
    "\\d\\d:\\d\\d:\\d\\d (?:(?:[-+]\\d{4}|[A-Z]{3,5}) )?\\d{4}"

/* Parses a From_ line, without its end: "From ", at most one word, and the date of ctime(3), at most with a zone before
 * the year. Returns false for other lines. *ret_time: the date as UTC, in seconds since 1970; 0: unreadable. */
static bool mbox_from_read(const char *line, int64_t *ret_time)
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

/* Parses the value of Content-Length. Returns -1 if it is no number, or larger than any file. */
static int64_t mbox_length_read(const char *text)
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

/* Returns true if a From_ line, or the end of the file, follows the body at offset `body`, after two line ends at most. */
static bool mbox_length_fits(int fd, int64_t body, int64_t length)
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

static bool reject(struct scan *scan, const char *why)
{
    scan->failed = true;
    return error_set(scan->error, "line %zu: %s", scan->line_number, why);
}

/* end: without mboxcl2's length; excludes the empty line after the message. */
static void end_message(struct scan *scan, int64_t end)
{
    if (scan->messages->len == 0)
        return;
    struct mbox_message *message = &g_array_index(scan->messages, struct mbox_message, scan->messages->len - 1);
    if (!scan->by_length && end - message->offset >= (int64_t)scan->blank_size)
        end -= (int64_t)scan->blank_size;
    message->size = (scan->by_length ? scan->body_until : end) - message->offset;
}

/* Returns false, with the file rejected, if the line begins no message, or may be text. */
static bool begins_message(struct scan *scan, int64_t *ret_time)
{
    if (strchr(scan->start, '\r') != NULL)
        return reject(scan, "lines end with CR only; convert them to LF (tr '\\r' '\\n')");
    if (g_str_has_prefix(scan->start, EUDORA))
        return reject(scan, "Eudora does not quote text that looks like a message; convert the file to an mbox");
    if (scan->line_at < scan->body_until)
        return reject(scan,
                      "it begins with \"From \", but the message's Content-Length leads past it. If the program that"
                      " wrote the file sets that field in each message, use --mbox mboxcl2; else remove the field");
    if (!mbox_from_read(scan->start, ret_time))
        return reject(scan,
                      "it begins with \"From \" but has no date. If it is text, put '>' before it; if the file is one"
                      " message, name it *.eml; if a message begins here, write: From - Thu Jan 01 00:00:00 1970");
    if (scan->part != BEFORE_MESSAGES && scan->blank_size == 0 && !(scan->by_length && scan->part == IN_BODY))
        return reject(scan,
                      "it begins with \"From \" but follows no empty line. If it is text, put '>' before it; if a"
                      " message begins here, put an empty line before it");
    return true;
}

static void take_from_line(struct scan *scan, int64_t next_line_at)
{
    struct mbox_message message = {.offset = next_line_at};
    if (!begins_message(scan, &message.from_time))
        return;
    end_message(scan, scan->line_at);
    g_array_append_val(scan->messages, message);
    scan->part = BEHIND_FROM;
    scan->lengths = 0;
    scan->body_until = 0;
}

/* A byte order mark and empty lines may come first. */
static void take_first_line(struct scan *scan, int64_t next_line_at)
{
    const char *line = g_str_has_prefix(scan->start, BOM) ? scan->start + strlen(BOM) : scan->start;
    memmove(scan->start, line, strlen(line) + 1);
    if (strcmp(scan->start, MMDF) == 0)
        (void)reject(scan, "it begins an MMDF folder, which is not supported; convert it to an mbox");
    else if (g_str_has_prefix(scan->start, MBOX_FROM) || strcmp(scan->start, "From") == 0)
        take_from_line(scan, next_line_at);
    else
        scan->not_mbox = scan->start[0] != '\0';
}

static void begin_body(struct scan *scan, int64_t body)
{
    bool fits = scan->lengths > 0 && mbox_length_fits(scan->fd, body, scan->content_length);
    scan->body_until = fits ? body + scan->content_length : 0;
    scan->part = IN_BODY;
    if (scan->by_length && (!fits || scan->lengths > 1))
        (void)reject(scan,
                     "the header has no Content-Length, two, or one that leads to no message: this is no mboxcl2. If"
                     " text is quoted in the file (\">From \"), use --mbox mboxrd");
}

/* Returns true for what may follow a From_ line: a field, or another program's From_ line, quoted. */
static bool begins_header(const char *line)
{
    struct message_field field;
    const unsigned char *at = (const unsigned char *)line;
    return g_str_has_prefix(line, ">" MBOX_FROM) ||
           (message_field_next(&at, at + strlen(line), &field) && field.name_length > 0);
}

static void take_header_line(struct scan *scan, int64_t next_line_at)
{
    static const char name[] = "Content-Length:";
    if (scan->part == BEHIND_FROM && !begins_header(scan->start)) {
        (void)reject(scan, "no header follows the line before. If that is text, put '>' before it");
        return;
    }
    scan->part = IN_HEADER;
    if (scan->start[0] == '\0') {
        begin_body(scan, next_line_at);
    } else if (g_ascii_strncasecmp(scan->start, name, strlen(name)) == 0) {
        scan->content_length = mbox_length_read(scan->start + strlen(name));
        scan->lengths++;
    }
}

static void take_line(struct scan *scan, int64_t next_line_at)
{
    while (scan->start_length > 0 && scan->start[scan->start_length - 1] == '\r')
        scan->start_length--;
    scan->start[scan->start_length] = '\0';
    for (size_t i = 0; i < scan->start_length; i++)
        scan->start[i] = scan->start[i] == '\0' ? '\x80' : scan->start[i];
    scan->line_number++;

    bool is_text = scan->by_length && scan->line_at < scan->body_until;
    if (scan->part == BEFORE_MESSAGES)
        take_first_line(scan, next_line_at);
    else if (!is_text && g_str_has_prefix(scan->start, MBOX_FROM))
        take_from_line(scan, next_line_at);
    else if (scan->part != IN_BODY)
        take_header_line(scan, next_line_at);
    scan->blank_size = scan->start[0] == '\0' ? (size_t)(next_line_at - scan->line_at) : 0;
    scan->line_at = next_line_at;
    scan->start_length = 0;
}

static void take_chunk(struct scan *scan, const char *chunk, size_t size, int64_t offset)
{
    const char *end = chunk + size;
    for (const char *at = chunk; at < end && !scan->not_mbox && !scan->failed;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline != NULL ? newline : end) - at);
        size_t room = LINE_START - scan->start_length;
        memcpy(scan->start + scan->start_length, at, length < room ? length : room);
        scan->start_length += length < room ? length : room;
        at += length + (newline != NULL);
        if (newline != NULL)
            take_line(scan, offset + (at - chunk));
    }
}

/* Without an empty line, the last header ends with the file. */
static void end_file(struct scan *scan, int64_t size)
{
    if (size > scan->line_at)
        take_line(scan, size);
    if (!scan->failed && scan->part == BEHIND_FROM)
        (void)reject(scan, "no message follows. If the line is text, put '>' before it");
    if (!scan->failed && scan->part == IN_HEADER && scan->by_length)
        begin_body(scan, size);
    end_message(scan, size);
}

static bool scan_file(struct scan *scan)
{
    char chunk[65536];
    int64_t offset = 0;
    ssize_t n;
    while (!scan->not_mbox && !scan->failed &&
           (n = TEMP_FAILURE_RETRY(pread(scan->fd, chunk, sizeof(chunk), offset))) != 0) {
        if (n < 0)
            return error_set(scan->error, "cannot be read: %m");
        take_chunk(scan, chunk, (size_t)n, offset);
        offset += n;
    }
    if (!scan->not_mbox && !scan->failed)
        end_file(scan, offset);
    return !scan->failed;
}

bool mbox_scan(int fd, enum mbox_dialect dialect, GArray **ret_messages, struct error *error)
{
    struct scan scan = {
        .fd = fd,
        .by_length = dialect == MBOX_CL2,
        .messages = g_array_new(FALSE, FALSE, sizeof(struct mbox_message)),
        .error = error,
    };
    bool good = scan_file(&scan);
    if (!good || scan.messages->len == 0)
        g_clear_pointer(&scan.messages, g_array_unref);
    if (good)
        *ret_messages = scan.messages;
    return good;
}
