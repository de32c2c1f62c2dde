/* SPDX-License-Identifier: ISC */
#include "replay/replay_mbox.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message/decode.h"

#define LINE_START 512  /* bytes of a line that are looked at */
#define FROM "From "

/* A scan under way. */
struct scan {
    int fd;
    GArray *messages;
    char start[LINE_START + 1];     /* of the present line */
    size_t start_length;
    int64_t line_at;                /* its offset */
    bool after_blank;               /* the line before was empty, or there was none */
    bool in_header;
    int64_t content_length;         /* of the present message's header; -1: none */
    int64_t body_until;             /* up to here Content-Length says that all is body */
    bool not_mbox;
    bool unquoted;                  /* "From " begins a line of a body that Content-Length delimits */
    bool deep;                      /* ">>From " was met */
};

static GRegex *from_line(void)
{
    static GRegex *regex;
    if (regex == NULL)
        regex = g_regex_new("^From (?:.* )?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov"
                            "|Dec) +\\d{1,2} +\\d{1,2}:\\d{2}(?::\\d{2})?(?: +[-+A-Z0-9]+){0,2} +\\d{4}",
                            G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    return regex;
}

static bool is_from_line(const char *line)
{
    return g_str_has_prefix(line, FROM) && g_regex_match(from_line(), line, 0, NULL);
}

/* The date in a From_ line is what comes behind the address, in ctime(3)'s form; read as UTC. */
static int64_t from_time(const char *line)
{
    static const char *const days[] = {" Mon", " Tue", " Wed", " Thu", " Fri", " Sat", " Sun"};
    const char *date = NULL;
    int64_t seconds = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(days) && date == NULL; i++)
        date = g_strrstr(line, days[i]);
    return date != NULL && decode_date(date + 1, &seconds) && seconds > 0 ? seconds : 0;
}

static struct mbox_message *last_message(struct scan *scan)
{
    return &g_array_index(scan->messages, struct mbox_message, scan->messages->len - 1);
}

/* A message's end is known: without the empty line that was put behind it. */
static void end_message(struct scan *scan, int64_t end, bool blank_before, size_t blank_size)
{
    if (scan->messages->len == 0)
        return;
    struct mbox_message *message = last_message(scan);
    message->size = end - message->offset;
    if (blank_before && message->size >= (int64_t)blank_size && end > scan->body_until)
        message->size -= (int64_t)blank_size;
}

/* Content-Length is believed only if a message begins, or the file ends, where it says. */
static bool length_fits(const struct scan *scan, int64_t end)
{
    char next[12] = "";
    struct stat status;
    ssize_t n = pread(scan->fd, next, sizeof(next) - 1, end);
    if (n < 0 || fstat(scan->fd, &status) != 0 || end > status.st_size)
        return false;
    const char *at = next + strspn(next, "\r\n");
    return at - next <= 4 && (at == next + n || g_str_has_prefix(at, FROM));
}

static void take_header_line(struct scan *scan, int64_t next_line_at)
{
    static const char name[] = "Content-Length:";
    if (scan->start[0] == '\0') {
        scan->in_header = false;
        if (scan->content_length >= 0 && length_fits(scan, next_line_at + scan->content_length))
            scan->body_until = next_line_at + scan->content_length;
    } else if (g_ascii_strncasecmp(scan->start, name, strlen(name)) == 0) {
        scan->content_length = g_ascii_strtoll(scan->start + strlen(name), NULL, 10);
    }
}

static void begin_message(struct scan *scan, int64_t next_line_at)
{
    const struct mbox_message message = {.offset = next_line_at, .from_time = from_time(scan->start)};
    g_array_append_val(scan->messages, message);
    scan->in_header = true;
    scan->content_length = -1;
    scan->body_until = 0;
}

/* One line is read; the next one begins at next_line_at. blank_size: of the empty line before it, with its end. */
static void take_line(struct scan *scan, int64_t next_line_at, size_t *blank_size)
{
    scan->start[scan->start_length] = '\0';
    if (scan->start_length > 0 && scan->start[scan->start_length - 1] == '\r')
        scan->start[scan->start_length - 1] = '\0';
    bool from = is_from_line(scan->start);
    if (scan->line_at == 0 && !from) {
        scan->not_mbox = true;
    } else if (from && (scan->after_blank || scan->line_at == scan->body_until) && scan->line_at >= scan->body_until &&
               !scan->in_header) {      /* where Content-Length ends a body some writers leave the empty line out */
        end_message(scan, scan->line_at, scan->line_at > 0, *blank_size);
        begin_message(scan, next_line_at);
    } else if (scan->in_header) {
        take_header_line(scan, next_line_at);
    } else {
        scan->unquoted = scan->unquoted || (scan->line_at < scan->body_until && g_str_has_prefix(scan->start, FROM));
        size_t marks = strspn(scan->start, ">");
        scan->deep = scan->deep || (marks > 1 && g_str_has_prefix(scan->start + marks, FROM));
    }
    scan->after_blank = scan->start[0] == '\0';
    *blank_size = scan->after_blank ? (size_t)(next_line_at - scan->line_at) : 0;
    scan->line_at = next_line_at;
    scan->start_length = 0;
}

static bool scan_file(struct scan *scan, struct fault *fault)
{
    char chunk[65536];
    size_t blank_size = 0;
    int64_t offset = 0;
    ssize_t n;
    while (!scan->not_mbox && (n = pread(scan->fd, chunk, sizeof(chunk), offset)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fault_set(fault, "cannot be read: %m");
            return false;
        }
        const char *end = chunk + n;
        for (const char *at = chunk; at < end && !scan->not_mbox;) {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            size_t length = (size_t)((newline != NULL ? newline : end) - at);
            size_t room = LINE_START - scan->start_length;
            memcpy(scan->start + scan->start_length, at, length < room ? length : room);
            scan->start_length += length < room ? length : room;
            at += length + (newline != NULL);
            if (newline != NULL)
                take_line(scan, offset + (at - chunk), &blank_size);
        }
        offset += n;
    }
    if (offset > scan->line_at)
        take_line(scan, offset, &blank_size);
    end_message(scan, offset, scan->after_blank, blank_size);
    return true;
}

bool mbox_scan(int fd, GArray **ret_messages, enum mbox_quoting *ret_quoting, struct fault *fault)
{
    struct scan scan = {
        .fd = fd, .messages = g_array_new(FALSE, FALSE, sizeof(struct mbox_message)), .after_blank = true,
    };
    if (!scan_file(&scan, fault)) {
        g_array_unref(scan.messages);
        return false;
    }
    if (scan.messages->len == 0)
        g_clear_pointer(&scan.messages, g_array_unref);
    *ret_messages = scan.messages;
    *ret_quoting = scan.unquoted ? MBOX_PLAIN : scan.deep ? MBOX_RD : MBOX_O;
    return true;
}

/* The line is not one with quoting, or its quoting is dealt with: what was held back goes out. */
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
        if (unquote->quoting == MBOX_RD || (unquote->quoting == MBOX_O && unquote->marks == 1))
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
