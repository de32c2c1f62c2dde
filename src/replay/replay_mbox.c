/* SPDX-License-Identifier: ISC
 *
 * A "From " line is classified when the next line is known. */
#include "replay/replay_mbox.h"

#include <string.h>
#include <unistd.h>

#include "replay/replay_mbox_from.h"

#define LINE_START 512 /* bytes of a line to examine */
#define FROM "From "
#define BOM "\xef\xbb\xbf"
#define MMDF "\001\001\001\001"

struct candidate {
    bool there;
    struct mbox_from from;
    int64_t at;        /* offset */
    size_t number;     /* from 1 */
    size_t blank_size; /* of the empty line before, with its end */
};

struct scan {
    int fd;
    GArray *messages;
    char start[LINE_START + 1]; /* of the current line */
    size_t start_length;
    int64_t line_at; /* offset */
    size_t line_number;
    size_t blank_size; /* of the empty line before, with its end; 0: none */
    struct mbox_from first;
    struct candidate candidate;
    bool in_header;
    int64_t content_length; /* of the current message; -1: none */
    int64_t body_until;     /* end of the body by Content-Length */
    bool not_mbox, failed;
    bool unquoted; /* a body with fitting Content-Length has a "From " line */
    bool deep;     /* ">>From " occurred */
    struct error *error;
};

/* Excludes the empty line after the message. */
static void end_message(struct scan *scan, int64_t end, size_t blank_size)
{
    if (scan->messages->len == 0)
        return;
    struct mbox_message *message = &g_array_index(scan->messages, struct mbox_message, scan->messages->len - 1);
    message->size = end - message->offset;
    if (message->size >= (int64_t)blank_size)
        message->size -= (int64_t)blank_size;
}

static void begin_message(struct scan *scan, int64_t offset, int64_t from_time)
{
    const struct mbox_message message = {.offset = offset, .from_time = from_time};
    g_array_append_val(scan->messages, message);
    scan->in_header = true;
    scan->content_length = -1;
    scan->body_until = 0;
}

static void refuse_line(struct scan *scan, size_t line, const char *why)
{
    error_set(scan->error, "line %zu: %s", line, why);
    scan->failed = true;
}

static void take_header_line(struct scan *scan, int64_t next_line_at)
{
    static const char name[] = "Content-Length:";
    if (scan->start[0] == '\0') {
        scan->in_header = false;
        if (scan->content_length >= 0 && mbox_length_fits(scan->fd, next_line_at, scan->content_length))
            scan->body_until = next_line_at + scan->content_length;
    } else if (g_ascii_strncasecmp(scan->start, name, strlen(name)) == 0) {
        scan->content_length = mbox_length_read(scan->start + strlen(name));
    }
}

static void take_text_line(struct scan *scan, int64_t next_line_at)
{
    if (scan->in_header) {
        take_header_line(scan, next_line_at);
        return;
    }
    size_t marks = strspn(scan->start, ">");
    scan->deep = scan->deep || (marks > 1 && g_str_has_prefix(scan->start + marks, FROM));
}

/* after_marker: the line before begins a message. */
static void take_candidate(struct scan *scan, bool after_marker)
{
    struct candidate *candidate = &scan->candidate;
    candidate->there = true;
    candidate->at = scan->line_at;
    candidate->number = scan->line_number;
    candidate->blank_size = scan->blank_size;
    candidate->from.after_empty = scan->blank_size > 0;
    candidate->from.after_marker = after_marker;
    mbox_from_read(scan->start, &candidate->from);
}

static void classify_first(struct scan *scan)
{
    struct candidate *candidate = &scan->candidate;
    if (mbox_from_classify_first(&candidate->from) != MBOX_BEGINS) {
        refuse_line(scan, candidate->number,
                    "it begins with \"From \", as an mbox does, but does not look like an mbox separator; if the"
                    " file is a single message, name it *.eml or remove the line");
        return;
    }
    scan->first = candidate->from;
    candidate->from.shape = NULL;
    begin_message(scan, scan->line_at, scan->first.time);
}

/* A sender's Content-Length looks like an mbox's: either reading could be right. */
static void refuse_candidate(struct scan *scan)
{
    const struct candidate *candidate = &scan->candidate;
    if (candidate->at < scan->body_until)
        refuse_line(scan, candidate->number,
                    "a message seems to begin here, but the Content-Length of the one before leads past this line. If"
                    " that field is wrong, remove it; if this is text (mboxcl2), split the file into messages first:"
                    " formail -s sh -c 'cat >$FILENO.eml' <FILE");
    else
        refuse_line(scan, candidate->number,
                    "does a message begin here? If so, make the line look like the file's first, with an empty line"
                    " before and a header field after it; if it is text, put '>' before it");
}

static void classify_later(struct scan *scan)
{
    const struct candidate *candidate = &scan->candidate;
    bool in_length = candidate->at < scan->body_until;
    enum mbox_verdict verdict = mbox_from_classify(&candidate->from, &scan->first);
    if (verdict == MBOX_UNCLEAR || (verdict == MBOX_BEGINS && in_length)) {
        refuse_candidate(scan);
    } else if (verdict == MBOX_BEGINS) {
        end_message(scan, candidate->at, candidate->blank_size);
        begin_message(scan, scan->line_at, candidate->from.time);
    } else {
        scan->unquoted = scan->unquoted || in_length;
    }
}

/* Classifies the previous line. Returns true if it begins a message. */
static bool classify_candidate(struct scan *scan)
{
    struct candidate *candidate = &scan->candidate;
    size_t before = scan->messages->len;
    if (!candidate->there)
        return false;
    candidate->there = false;
    mbox_from_read_next(scan->start, &candidate->from);
    if (before == 0)
        classify_first(scan);
    else
        classify_later(scan);
    mbox_from_clear(&candidate->from);
    return scan->messages->len > before;
}

/* Empty lines and a byte order mark may come first. */
static void take_first_line(struct scan *scan)
{
    const char *line = g_str_has_prefix(scan->start, BOM) ? scan->start + strlen(BOM) : scan->start;
    if (line[0] == '\0')
        return;
    scan->not_mbox = !mbox_from_is(line);
    if (strcmp(line, MMDF) == 0)
        refuse_line(scan, scan->line_number, "it begins an MMDF folder, which is not supported; convert it to an mbox");
    if (scan->not_mbox)
        return;
    memmove(scan->start, line, strlen(line) + 1);
    take_candidate(scan, false);
    if (strchr(scan->start, '\r') != NULL)
        refuse_line(scan, scan->line_number, "lines end with CR only; convert them to LF (tr '\\r' '\\n')");
    scan->not_mbox = scan->line_at > 0 && scan->candidate.from.kind == MBOX_FROM_PROSE;
}

static void take_line(struct scan *scan, int64_t next_line_at)
{
    while (scan->start_length > 0 && scan->start[scan->start_length - 1] == '\r')
        scan->start_length--;
    scan->start[scan->start_length] = '\0';
    for (size_t i = 0; i < scan->start_length; i++)
        scan->start[i] = scan->start[i] == '\0' ? '\x80' : scan->start[i];
    scan->line_number++;

    bool begins = classify_candidate(scan);
    if (scan->failed)
        return;
    if (scan->messages->len == 0)
        take_first_line(scan);
    else if (mbox_from_is(scan->start))
        take_candidate(scan, begins);
    else
        take_text_line(scan, next_line_at);
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

static bool scan_file(struct scan *scan)
{
    char chunk[65536];
    int64_t offset = 0;
    ssize_t n;
    while (!scan->not_mbox && !scan->failed &&
           (n = TEMP_FAILURE_RETRY(pread(scan->fd, chunk, sizeof(chunk), offset))) != 0) {
        if (n < 0) {
            error_set(scan->error, "cannot be read: %m");
            return false;
        }
        take_chunk(scan, chunk, (size_t)n, offset);
        offset += n;
    }
    if (offset > scan->line_at && !scan->not_mbox && !scan->failed)
        take_line(scan, offset);
    scan->start[0] = '\0';
    if (!scan->not_mbox && !scan->failed)
        (void)classify_candidate(scan);
    end_message(scan, offset, scan->blank_size);
    return !scan->failed;
}

bool mbox_scan(int fd, GArray **ret_messages, enum mbox_quoting *ret_quoting, struct error *error)
{
    struct scan scan = {
        .fd = fd,
        .messages = g_array_new(FALSE, FALSE, sizeof(struct mbox_message)),
        .error = error,
    };
    bool good = scan_file(&scan);
    mbox_from_clear(&scan.first);
    mbox_from_clear(&scan.candidate.from);
    if (!good || scan.messages->len == 0)
        g_clear_pointer(&scan.messages, g_array_unref);
    if (!good)
        return false;
    *ret_messages = scan.messages;
    *ret_quoting = scan.unquoted ? MBOX_PLAIN : scan.deep ? MBOX_RD : MBOX_O;
    return true;
}
