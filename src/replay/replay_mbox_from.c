/* SPDX-License-Identifier: ISC */
#include "replay/replay_mbox_from.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decode/decode.h"
#include "message/message_field.h"

#define FROM "From "
#define NEXT_LINE 512 /* bytes to examine after a body */
#define NO_BLANK "!"  /* no empty line before: mostly text */

#define DAY "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),?"
#define MONTH "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#define TIME "\\d{1,2}:\\d{2}(?::\\d{2})?"
#define ZONE "(?:[-+]\\d{4}|[A-Z]{1,5})"

/* ctime(3) with variants; RFC 5322; ISO 8601. */
/* clang-format off */
#define DATE \
    "(?:" DAY " +" MONTH " +\\d{1,2} +" TIME "(?: +" ZONE "){0,2} +\\d{4}" \
    "|" DAY " +" MONTH " +\\d{1,2} +\\d{4} +" TIME \
    "|(?:" DAY " +)?\\d{1,2} +" MONTH " +\\d{2,4} +" TIME \
    "|\\d{4}[-/]\\d{1,2}[-/]\\d{1,2}(?:[ T]+" TIME "(?:\\.\\d+)?Z?)?)(?: +" ZONE ")?"
/* clang-format on */

/* A word, with quoted blanks, or an obfuscated address. */
#define SENDER "(?:(?:\"[^\"]*\"|[^\\s\"])+|\\S+ at \\S+)"

/* Returns the match, a new string, or NULL. */
static char *match(GRegex **regex, const char *pattern, const char *text)
{
    g_autoptr(GMatchInfo) info = NULL;
    if (*regex == NULL)
        *regex = g_regex_new(pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
    return g_regex_match(*regex, text, 0, &info) ? g_match_info_fetch(info, 0) : NULL;
}

static bool is_dated(const char *rest)
{
    static GRegex *regex;
    g_autofree char *all = match(&regex, "^(?:" SENDER " +)?" DATE "(?: +remote from \\S+)? *$", rest);
    return all != NULL;
}

static bool has_date(const char *rest)
{
    static GRegex *regex;
    g_autofree char *date = match(&regex, DATE "|\\d:\\d\\d\\b.*\\d{4}|\\d{4}.*\\d:\\d\\d\\b", rest);
    return date != NULL;
}

/* Returns the date as UTC, or 0. */
static int64_t time_of(const char *rest)
{
    static GRegex *regex;
    g_autofree char *date = match(&regex, DATE, rest);
    int64_t seconds = 0;
    return date != NULL && decode_date(date, &seconds) && seconds > 0 ? seconds : 0;
}

static bool only(const char *word, size_t length, const char *set)
{
    return length > 0 && strspn(word, set) >= length;
}

static int writer_of(const char *rest, bool dated)
{
    size_t length = strcspn(rest, " ");
    const char *behind = rest + length + strspn(rest + length, " ");
    const char *digits = rest[0] == '-' ? rest + 1 : rest;
    if (length == 0)
        return MBOX_FROM_NO_SENDER;
    if (only(rest, length, "0123456789abcdef") && length >= 40 && g_str_has_prefix(behind, "Mon Sep 17 00:00:00 2001"))
        return MBOX_FROM_GIT;
    if (behind[0] != '\0' && !dated)
        return MBOX_FROM_ANY_SENDER;
    if (length == 1 && rest[0] == '-')
        return MBOX_FROM_DASH;
    if (length == 7 && strncmp(rest, "???@\?\?\?", 7) == 0)
        return MBOX_FROM_EUDORA;
    if (length > 4 && strncmp(rest + length - 4, "@xxx", 4) == 0 && only(rest, length - 4, "0123456789"))
        return MBOX_FROM_GMAIL;
    return length >= 6 && only(digits, length - (size_t)(digits - rest), "0123456789") ? MBOX_FROM_NUMBER
                                                                                       : MBOX_FROM_ANY_SENDER;
}

/* Adds a word's kind: an address, letters, or the positions of digits. */
static void add_shape(GString *shape, const char *word, size_t length)
{
    bool has_alpha = false;
    for (size_t i = 0; i < length; i++)
        has_alpha = has_alpha || g_ascii_isalpha(word[i]) || (unsigned char)word[i] >= 0x80;
    if (shape->len > 0)
        g_string_append_c(shape, ' ');
    if (memchr(word, '@', length) != NULL || has_alpha) {
        g_string_append_c(shape, memchr(word, '@', length) != NULL ? '@' : 'a');
        return;
    }
    for (size_t i = 0; i < length; i++)
        if (!g_ascii_isdigit(word[i]) || i == 0 || !g_ascii_isdigit(word[i - 1]))
            g_string_append_c(shape, g_ascii_isdigit(word[i]) ? '9' : word[i]);
}

bool mbox_from_is(const char *line)
{
    return g_str_has_prefix(line, FROM) || strcmp(line, "From") == 0;
}

void mbox_from_read(const char *line, struct mbox_from *ret)
{
    const char *rest = line + strlen("From");
    rest += strspn(rest, " ");
    GString *shape = g_string_new(line[strlen("From")] == '\0' ? NO_BLANK : NULL);
    size_t words = 0;
    for (const char *at = rest; *at != '\0'; words++) {
        size_t length = strcspn(at, " ");
        add_shape(shape, at, length);
        at += length + strspn(at + length, " ");
    }
    bool dated = is_dated(rest);
    bool address = memchr(rest, '@', strcspn(rest, " ")) != NULL;
    bool doubtful = words <= 1 || has_date(rest) ||
                    (address && strpbrk(rest + strcspn(rest, " "), "0123456789") != NULL);
    ret->kind = dated ? MBOX_FROM_DATED : doubtful ? MBOX_FROM_DOUBTFUL : MBOX_FROM_PROSE;
    ret->writer = writer_of(rest, dated);
    ret->time = time_of(rest);
    ret->shape = g_string_free(shape, FALSE);
}

void mbox_from_clear(struct mbox_from *from)
{
    g_free(from->shape);
    from->shape = NULL;
}

void mbox_from_read_next(const char *line, struct mbox_from *ret)
{
    static const char *const known[] = {"Received", "Return-Path",  "Delivered-To", "Message-ID", "Date", "From",
                                        "Subject",  "MIME-Version", "Content-*",    "Status",     "X-*"};
    struct mbox_from again = {.shape = NULL};
    struct message_field field;
    const unsigned char *at = (const unsigned char *)line;
    bool is_field = message_field_next(&at, at + strlen(line), &field) && field.name_length > 0;
    ret->before_known_field = false;
    for (size_t i = 0; is_field && i < G_N_ELEMENTS(known); i++)
        ret->before_known_field = ret->before_known_field || message_field_is(&field, known[i]);
    if (g_str_has_prefix(line, FROM))
        mbox_from_read(line, &again);
    /* some programs put their line before another's */
    ret->before_field = is_field || g_str_has_prefix(line, ">" FROM) ||
                        (again.shape != NULL && again.kind == MBOX_FROM_DATED);
    mbox_from_clear(&again);
}

enum mbox_verdict mbox_from_classify_first(const struct mbox_from *from)
{
    bool certain = from->kind == MBOX_FROM_DATED ||
                   (from->writer != MBOX_FROM_ANY_SENDER && from->writer != MBOX_FROM_NO_SENDER);
    return certain || from->before_field ? MBOX_BEGINS : MBOX_UNCLEAR;
}

/* Returns true for lines of one program, or in the form of RFC 4155. */
static bool is_like_first(const struct mbox_from *from, const struct mbox_from *first)
{
    bool same_shape = strcmp(from->shape, first->shape) == 0;
    if (first->writer == MBOX_FROM_NO_SENDER)
        return same_shape;
    if (first->writer != MBOX_FROM_ANY_SENDER || from->writer == MBOX_FROM_GIT)
        return from->writer == first->writer;
    return same_shape || (from->kind == MBOX_FROM_DATED && first->kind == MBOX_FROM_DATED);
}

/* marked: text never has such a line, whose program may omit the empty line. */
static enum mbox_verdict classify_alike(const struct mbox_from *from, bool marked)
{
    bool prose = from->kind == MBOX_FROM_PROSE;
    if ((prose ? from->before_known_field : from->before_field) && (from->after_empty || marked))
        return MBOX_BEGINS;
    if (from->before_field)
        return !prose || from->after_empty ? MBOX_UNCLEAR : MBOX_TEXT;
    return marked || (from->after_empty && from->kind == MBOX_FROM_DATED) ? MBOX_UNCLEAR : MBOX_TEXT;
}

/* Forwarded messages and patches have such lines, too. */
static enum mbox_verdict classify_other(const struct mbox_from *from)
{
    bool likely = from->after_empty && from->before_known_field;
    if (strcmp(from->shape, NO_BLANK) == 0)
        return MBOX_TEXT;
    if (from->kind != MBOX_FROM_PROSE && from->before_field)
        likely = likely || from->after_empty || from->before_known_field || from->kind == MBOX_FROM_DATED;
    return likely ? MBOX_UNCLEAR : MBOX_TEXT;
}

/* As text, the line would begin a header. */
static enum mbox_verdict classify_second(const struct mbox_from *from, const struct mbox_from *first)
{
    bool clear = from->kind == MBOX_FROM_DATED || is_like_first(from, first);
    if (clear && from->before_field)
        return MBOX_BEGINS;
    return clear || from->kind != MBOX_FROM_PROSE ? MBOX_UNCLEAR : MBOX_TEXT;
}

enum mbox_verdict mbox_from_classify(const struct mbox_from *from, const struct mbox_from *first)
{
    bool marked = from->writer == first->writer && from->writer != MBOX_FROM_ANY_SENDER &&
                  from->writer != MBOX_FROM_GIT;
    if (from->after_marker)
        return classify_second(from, first);
    return is_like_first(from, first) ? classify_alike(from, marked) : classify_other(from);
}

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
    if (fstat(fd, &status) != 0 || length > status.st_size - body)
        return false;
    /* from the byte before */
    ssize_t n = pread(fd, next, sizeof(next) - 1, body + length - 1);
    if (n < 1)
        return false;
    /* a missing line end was added to the body */
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
