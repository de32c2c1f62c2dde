/* SPDX-License-Identifier: ISC
 *
 * mbox: where messages begin and end, and its quoting, for any pieces in which it is read.
 *
 * Seen to fail with: lines recognised by their date only; From_ lines accepted without the empty line before them;
 * Content-Length trusted, or taken to end at a bare CR; two From_ lines in a row taken for one; marks held back at the end of a piece forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/replay_mbox.h"

#define F "From lisa@example.org Fri Aug  1 10:00:00 2025\n"
#define AT 1754042400
#define COUNT(array) (sizeof(array) / sizeof *(array))

static int file_of(const char *text, size_t size)
{
    char name[] = "/tmp/oncedrop-unit.XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_true(write(fd, text, size) == (ssize_t)size);
    return fd;
}

static void test_scan(void **state)
{
    static const struct {
        const char *name, *text;
        const char *messages[5]; /* none: not an mbox */
        enum mbox_quoting quoting;
    } cases[] = {
        {"nothing", "", {NULL}, MBOX_O},
        {"a message", "Subject: a\n\nFrom x\n", {NULL}, MBOX_O},
        {"a quoted From_ line", ">" F "Subject: a\n\n", {NULL}, MBOX_O},
        {"one", F "A: a\n\nb\n\n", {"A: a\n\nb\n"}, MBOX_O},
        {"two", F "A: a\n\nb\n\n" F "A: b\n\nc\n\n", {"A: a\n\nb\n", "A: b\n\nc\n"}, MBOX_O},
        {"no empty line at the end", F "A: a\n\nb\n\n" F "A: b\n\nc\n", {"A: a\n\nb\n", "A: b\n\nc\n"}, MBOX_O},
        {"no line end at the end", F "A: a\n\nb", {"A: a\n\nb"}, MBOX_O},
        {"an empty body", F "A: a\n\n\n" F "A: b\n\n\n", {"A: a\n\n", "A: b\n\n"}, MBOX_O},
        {"a header and no more", F "A: a\n\n" F "A: b\n", {"A: a\n", "A: b\n"}, MBOX_O},
        {"empty lines at the end of a body",
         F "A: a\n\nb\n\n\n\n" F "A: b\n\nc\n\n",
         {"A: a\n\nb\n\n\n", "A: b\n\nc\n"},
         MBOX_O},
        {"a From_ line inside of a paragraph", F "A: a\n\nb\n" F "c\n\n", {"A: a\n\nb\n" F "c\n"}, MBOX_O},
        {"a From line that is none", F "A: a\n\nb\n\nFrom here on\n\n", {"A: a\n\nb\n\nFrom here on\n"}, MBOX_O},
        {"CRLF",
         "From a Fri Aug  1 10:00:00 2025\r\nA: a\r\n\r\nb\r\n\r\nFrom b Fri Aug  1 10:00:00 2025\r\nA: b\r\n\r\nc\r\n\r\n",
         {"A: a\r\n\r\nb\r\n", "A: b\r\n\r\nc\r\n"},
         MBOX_O},
        {"mboxrd", F "A: a\n\n>From x\n>>From y\n\n", {"A: a\n\n>From x\n>>From y\n"}, MBOX_RD},
        {"mboxo", F "A: a\n\n>From x\n>> From y\n\n", {"A: a\n\n>From x\n>> From y\n"}, MBOX_O},
        {"mboxcl2",
         F "Content-Length: 20\n\nb\n\nFrom x\n\n>From y\n\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 20\n\nb\n\nFrom x\n\n>From y\n\n", "A: b\n\nc\n"},
         MBOX_PLAIN},
        {"a length to a bare CR",
         F "Content-Length: 56\n\nb\n\n" F "A: b\n\n\r\r\rFrom x\n\n" F "A: c\n\nd\n\n",
         {"Content-Length: 56\n\nb\n", "A: b\n\n\r\r\rFrom x\n", "A: c\n\nd\n"},
         MBOX_O},
        {"a length over the empty line",
         F "Content-Length: 3\n\nb\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 3\n\nb\n", "A: b\n\nc\n"},
         MBOX_O},
        {"an empty message", F F "A: a\n\nb\n\n" F F F "A: b\n", {"", "A: a\n\nb\n", "", "", "A: b\n"}, MBOX_O},
        {"a length that is too short",
         F "Content-Length: 1\n\nbc\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 1\n\nbc\n", "A: b\n\nc\n"},
         MBOX_O},
        {"a length that is too long",
         F "Content-Length: 9999\n\nb\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 9999\n\nb\n", "A: b\n\nc\n"},
         MBOX_O},
        {"a length that is none",
         F "Content-Length: -5\n\nb\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: -5\n\nb\n", "A: b\n\nc\n"},
         MBOX_O},
        {"a length in the body",
         F "A: a\n\nContent-Length: 9\n\n" F "A: b\n\nc\n\n",
         {"A: a\n\nContent-Length: 9\n", "A: b\n\nc\n"},
         MBOX_O},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        GArray *found = NULL;
        enum mbox_quoting quoting;
        struct error error;
        size_t expected = 0;
        int fd = file_of(cases[i].text, strlen(cases[i].text));
        while (expected < COUNT(cases[i].messages) && cases[i].messages[expected] != NULL)
            expected++;
        assert_true(mbox_scan(fd, &found, &quoting, &error));
        close(fd);
        if ((found != NULL ? found->len : 0) != expected)
            fail_msg("%s: %u messages", cases[i].name, found != NULL ? found->len : 0);
        for (size_t n = 0; n < expected; n++) {
            const struct mbox_message *message = &g_array_index(found, struct mbox_message, n);
            char *text = g_strndup(cases[i].text + message->offset, (size_t)message->size);
            if (strcmp(text, cases[i].messages[n]) != 0 || message->from_time != AT)
                fail_msg("%s, %zu: \"%s\" of %lld", cases[i].name, n, text, (long long)message->from_time);
            g_free(text);
        }
        if (expected > 0 && quoting != cases[i].quoting)
            fail_msg("%s: quoting %d", cases[i].name, (int)quoting);
        g_clear_pointer(&found, g_array_unref);
    }
}

/* The beginning of a line falls on each side of a read boundary. */
static void test_scan_across_pieces(void **state)
{
    (void)state;
    for (size_t fill = 65536 - 160; fill < 65536; fill++) {
        GArray *found = NULL;
        enum mbox_quoting quoting;
        struct error error;
        GString *text = g_string_new(F "A: a\n\n");
        for (size_t i = 0; i < fill; i++)
            g_string_append_c(text, i % 70 == 69 ? '\n' : 'x');
        g_string_append(text, "\n\n");
        gint64 second = (gint64)text->len + (gint64)strlen(F);
        g_string_append(text, F "A: b\n\nc\n\n");
        int fd = file_of(text->str, text->len);
        assert_true(mbox_scan(fd, &found, &quoting, &error));
        close(fd);
        assert_int_equal(found->len, 2);
        assert_int_equal(g_array_index(found, struct mbox_message, 1).offset, second);
        assert_int_equal(g_array_index(found, struct mbox_message, 1).size, strlen("A: b\n\nc\n"));
        g_array_unref(found);
        g_string_free(text, TRUE);
    }
}

static void test_from_times(void **state)
{
    static const struct {
        const char *line;
        long long seconds; /* -1: not a From_ line */
    } cases[] = {
        {"From a@b Fri Aug  1 10:00:00 2025", AT},
        {"From Fri Aug 01 10:00:00 2025", AT},
        {"From \"a b\"@c Fri Aug  1 10:00 2025", AT},
        {"From a@b Fri Aug  1 10:00:00 +0000 2025", AT},
        {"From a@b  Fri, Aug  1 10:00:00 2025", AT},
        {"From a@b Fri Aug  1 2025 10:00:00", AT},
        {"From - Fri Aug  1 10:00:00 2025", AT},
        {"From a at b  Fri Aug  1 10:00:00 2025", AT},
        {"From 18@xxx Fri Aug 01 10:00:00 +0000 2025", AT},
        {"From a@b Fri, 1 Aug 2025 10:00:00 +0000", AT},
        {"From a@b Fri Aug  1 2025", 0},
        {"From a@b", 0},
        {"From ", 0},
        {"From the Fri Aug office", 0},
        {"from a@b Fri Aug  1 10:00:00 2025", -1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        GArray *found = NULL;
        enum mbox_quoting quoting;
        struct error error;
        char *text = g_strdup_printf("%s\nA: a\n\nb\n", cases[i].line);
        int fd = file_of(text, strlen(text));
        assert_true(mbox_scan(fd, &found, &quoting, &error));
        close(fd);
        long long seconds = found != NULL ? (long long)g_array_index(found, struct mbox_message, 0).from_time : -1;
        if (seconds != cases[i].seconds)
            fail_msg("%s: %lld", cases[i].line, seconds);
        g_clear_pointer(&found, g_array_unref);
        g_free(text);
    }
}

/* Returns how many messages a file has; -1: refused, with the line in *ret_line. */
static int count_of(const char *text, size_t size, GArray **ret_found, struct error *error)
{
    enum mbox_quoting quoting;
    GArray *found = NULL;
    int fd = file_of(text, size);
    bool good = mbox_scan(fd, &found, &quoting, error);
    int count = !good ? -1 : found != NULL ? (int)found->len : 0;
    close(fd);
    if (ret_found != NULL)
        *ret_found = found;
    else
        g_clear_pointer(&found, g_array_unref);
    return count;
}

/* Lines as written by programs; `blank`: only the empty line before distinguishes them from text. */
static const struct {
    const char *name, *line;
    bool blank;
} writers[] = {
    {"RFC 4155", "From lisa@example.org Fri Aug  1 10:00:00 2025", true},
    {"bounce", "From MAILER-DAEMON Fri Aug  1 10:00:00 2025", true},
    {"two blanks", "From lisa@example.org  Fri Aug  1 10:00:00 2025", true},
    {"no sender", "From Fri Aug  1 10:00:00 2025", true},
    {"zone", "From lisa Fri Aug  1 10:00:00 MEST 2025", true},
    {"zone behind", "From lisa@example.org Fri Aug  1 10:00:00 2025 +0200", true},
    {"UUCP", "From lisa Fri Aug  1 10:00 2025 remote from host", true},
    {"quoted", "From \"lisa s\"@example.org Fri Aug  1 10:00:00 2025", true},
    {"Pipermail", "From lisa at example.org  Fri Aug  1 10:00:00 2025", true},
    {"RFC 5322", "From lisa@example.org Fri, 1 Aug 2025 10:00:00 +0000", true},
    {"ISO 8601", "From lisa@example.org 2025-08-01T10:00:00Z", true},
    {"a day", "From lisa@example.org 2025-08-01", true},
    {"git", "From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001", true},
    {"an address", "From lisa@example.org", true},
    {"a name", "From lisa", true},
    {"another language", "From lisa@example.org Fr 1. Aug 10:00:00 2025", true},
    {"Netscape", "From - Fri Aug 01 10:00:00 2025", false},
    {"Netscape, no date", "From - ", false},
    {"Thunderbird on a Mac", "From - Fri Aug 1 2025 10:00:00", false},
    {"Thunderbird", "From ", false},
    {"Thunderbird, blank lost", "From", false},
    {"Eudora", "From ???@\?\?\? Fri Aug 01 10:00:00 2025", false},
    {"Eudora, no date", "From ???@\?\?\?", false},
    {"Gmail", "From 1844347792267117879@xxx Fri Aug 01 10:00:00 +0000 2025", false},
    {"Gmail, no date", "From 1844347792267117879@xxx", false},
    {"Google Groups", "From -5834534534538434534", false},
};

static void add(GString *file, const char *text, bool crlf)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n' && crlf)
            g_string_append_c(file, '\r');
        g_string_append_c(file, *text);
    }
}

/* Each program's files are split, or refused if the empty lines are missing that would make them unambiguous. None
 * counts as fewer messages than it has, and none is split at text. */
static void test_writers(void **state)
{
    static const char *const bodies[] = {
        "one\n\nFrom the beginning of time\nit was so\n",
        "two\nFrom here on: nothing\n",
        "\n",
        "",
        "three\n\n>From lisa Fri Aug  1 10:00:00 2025\nFrom: x\n",
        "\nFrom here\n\nFrom me\nto you\n\nFrom Monday 10:00 on we meet in 2025\nhere\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(writers); i++) {
        for (unsigned form = 0; form < 8; form++) {
            bool crlf = form & 1, blank = form & 2, cut = form & 4;
            GString *file = g_string_new(NULL);
            gint64 offsets[COUNT(bodies)], ends[COUNT(bodies)];
            GArray *found;
            struct error error;
            for (size_t n = 0; n < COUNT(bodies); n++) {
                add(file, writers[i].line, false);
                add(file, "\n", crlf);
                offsets[n] = (gint64)file->len;
                add(file, "Return-Path: <x@y>\nSubject: x\n\n", crlf);
                /* without the writer's empty line a body must not end with its own */
                add(file, !blank && writers[i].blank && bodies[n][0] == '\n' ? "x\n" : bodies[n], crlf);
                ends[n] = (gint64)file->len;
                if (blank)
                    add(file, "\n", crlf);
            }
            while (cut && (file->str[file->len - 1] == '\n' || file->str[file->len - 1] == '\r'))
                g_string_truncate(file, file->len - 1);
            int count = count_of(file->str, file->len, &found, &error);
            bool refused = writers[i].blank && !blank;
            if (count != (refused ? -1 : (int)COUNT(bodies)))
                fail_msg("%s, form %u: %d messages %s", writers[i].name, form, count, count < 0 ? error.text : "");
            for (size_t n = 0; n < COUNT(bodies) && count > 0; n++) {
                const struct mbox_message *message = &g_array_index(found, struct mbox_message, n);
                if (message->offset != offsets[n] ||
                    (blank && n + 1 < COUNT(bodies) && message->offset + message->size != ends[n]))
                    fail_msg("%s, form %u: message %zu is elsewhere", writers[i].name, form, n + 1);
            }
            g_clear_pointer(&found, g_array_unref);
            g_string_free(file, TRUE);
        }
    }
}

/* Lines between two messages, or within one: taken for text, for a beginning, or refused with their number. */
static void test_unclear(void **state)
{
    static const struct {
        const char *name, *text;
        int count, line;
    } cases[] = {
        {"prose", F "A: a\n\n\nFrom the beginning\nb\n", 1, 0},
        {"prose before what looks like a field", F "A: a\n\n\nFrom the beginning on\nNote: b\n", 1, 0},
        {"prose before a field of mail", F "A: a\n\n\nFrom the beginning on\nSubject: b\n", -1, 5},
        {"a date in prose", F "A: a\n\n\nFrom noon on Fri Aug  1 10:00:00 2025 we\nsat\n", 1, 0},
        {"a date in prose before a field", F "A: a\n\n\nFrom noon on Fri Aug  1 10:00:00 2025 we\nA: b\n", -1, 5},
        {"inside of a paragraph, before prose", F "A: a\n\nb\n" F "c\n", 1, 0},
        {"inside of a paragraph, before a field", F "A: a\n\nb\n" F "A: b\n\nc\n", -1, 5},
        {"inside of a header", F "A: a\n" F "A: b\n\nc\n", -1, 3},
        {"before prose", F "A: a\n\nb\n\n" F "c\n", -1, 6},
        {"before nothing", F "A: a\n\nb\n\n" F, -1, 6},
        {"two in a row", F F "A: a\n\nb\n\n" F F "A: b\n\nc\n", 4, 0},
        {"two of two programs in a row", "From - \n" F "A: a\n\nb\n\nFrom - \n" F "A: b\n", 4, 0},
        {"two of two programs in a row, the dated one first", F "From - \nA: a\n\nb\n", -1, 2},
        {"two in a row, and no header", F F "\nb\n", -1, 2},
        {"two in a row, and nothing", F "A: a\n\nb\n\n" F F, -1, 7},
        {"prose behind a first line", F "From the desk of lisa\nA: a\n\nb\n", 1, 0},
        {"another's line behind, quoted", F ">" F "A: a\n\nb\n\n" F ">" F "A: b\n", 2, 0},
        {"a name without a date", F "A: a\n\nb\n\nFrom lisa\nSubject: b\n", -1, 6},
        {"an address without a date", F "A: a\n\nb\n\nFrom lisa@example.org\nA: b\n", -1, 6},
        {"Gmail's without a date in its own",
         "From 18@xxx Fri Aug 01 10:00:00 +0000 2025\nA: a\n\nb\nFrom 19@xxx\nA: b\n", 2, 0},
        {"Thunderbird's without a date in its own", "From - Fri Aug 01 10:00:00 2025\nA: a\n\nb\nFrom - \nA: b\n", 2,
         0},
        {"Thunderbird's in another's", F "A: a\n\nb\n\nFrom - Fri Aug 01 10:00:00 2025\nA: b\n", 2, 0},
        {"Thunderbird's in another's, no empty line", F "A: a\n\nb\nFrom - Fri Aug 01 10:00:00 2025\nA: b\n", -1, 5},
        {"another's in Thunderbird's", "From - Fri Aug 01 10:00:00 2025\nA: a\n\nb\n\n" F "A: b\n", -1, 6},
        {"a patch", F "A: a\n\nb\n\nFrom 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: b\n",
         -1, 6},
        {"a patch in Thunderbird's",
         "From \nA: a\n\nb\n\nFrom 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001\nFrom: b\n", -1,
         6},
        {"From alone", F "A: a\n\nb\n\nFrom\nSubject: b\n", 1, 0},
        {"prose first", "From the beginning\nof time\n", -1, 1},
        {"prose only", "From here", -1, 1},
        {"prose first, and a field", "From the desk of lisa\nA: a\n\nb\n\nFrom the desk of bart\nSubject: b\n", 2, 0},
        {"a header that is none", F "nonsense\n\nb\n", 1, 0},
        {"no header", F "\nb\n", 1, 0},
        {"a byte order mark", "\xef\xbb\xbf" F "A: a\n\nb\n\n" F "A: b\n", 2, 0},
        {"empty lines first", "\r\n\n" F "A: a\n\nb\n\n" F "A: b\n", 2, 0},
        {"empty lines first, then prose", "\n\nFrom the beginning\nof time\n", 0, 0},
        {"CR only", "From lisa Fri Aug  1 10:00:00 2025\rA: a\r\rb\r", -1, 1},
        {"MMDF", "\1\1\1\1\nA: a\n\nb\n\1\1\1\1\n", -1, 1},
        {"CR CR LF", "From - \r\r\nA: a\r\r\n\r\r\nb\r\r\n\r\r\nFrom - \r\r\nA: b\r\r\n", 2, 0},
        {"a length beyond all files", F "Content-Length: 9223372036854775807\n\nb\n\n" F "A: b\n", 2, 0},
        {"a length beyond all numbers", F "Content-Length: 18446744073709551617\n\nb\n\n" F "A: b\n", 2, 0},
        {"a length with more behind it", F "Content-Length: 1x\n\nb\n\n" F "A: b\n", 2, 0},
        {"a length to prose", F "Content-Length: 3\n\nb\n\nFrom here on\nc\n\n" F "A: b\n", 2, 0},
        {"a length to the middle of a line", F "Content-Length: 2\n\n: " F "A: b\n", 1, 0},
        {"a length to the end of the file", F "Content-Length: 58\n\nb\n\n" F "A: b\n\nc\n", -1, 6},
        {"a length over a message", F "Content-Length: 58\n\nb\n\n" F "A: b\n\nc\n" F "A: c\n", -1, 6},
        {"a length over what may be one", F "Content-Length: 20\n\nb\n\nFrom lisa\nA: b\n\nc", -1, 6},
        {"a length and no empty line", F "Content-Length: 2\n\nb\n" F "Content-Length: 2\n\nc\n", -1, 5},
        {"a length behind CR CR LF", "From - \r\r\nContent-Length: 4\r\r\n\r\r\nb\r\r\n\r\r\nFrom - \r\r\nA: b\r\r\n",
         2, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct error error = {.text = ""};
        int count = count_of(cases[i].text, strlen(cases[i].text), NULL, &error);
        char *line = base_printf("line %d: ", cases[i].line);
        if (count != cases[i].count || (count < 0 && !g_str_has_prefix(error.text, line)))
            fail_msg("%s: %d messages, %s", cases[i].name, count, error.text);
        base_free(&line);
    }
}

/* A NUL does not end a line. */
static void test_nul(void **state)
{
    static const char text[] = F "A: a\n\n\0\n" F "c\n";
    (void)state;
    struct error error = {.text = ""};
    assert_int_equal(count_of(text, sizeof(text) - 1, NULL, &error), 1);
}

static void test_unquote(void **state)
{
    static const struct {
        const char *text, *plain, *o, *rd;
        bool met;
    } cases[] = {
        {"", "", "", "", false},
        {"From x\n", "From x\n", "From x\n", "From x\n", false},
        {">From x\n", ">From x\n", "From x\n", "From x\n", true},
        {">>From x\n", ">>From x\n", ">>From x\n", ">From x\n", true},
        {">>>From x", ">>>From x", ">>>From x", ">>From x", true},
        {"a\n>From x\n>From y\n", "a\n>From x\n>From y\n", "a\nFrom x\nFrom y\n", "a\nFrom x\nFrom y\n", true},
        {"a >From x\n", "a >From x\n", "a >From x\n", "a >From x\n", false},
        {"> From x\n", "> From x\n", "> From x\n", "> From x\n", false},
        {">Fro\n>Fromx\n>>Fr", ">Fro\n>Fromx\n>>Fr", ">Fro\n>Fromx\n>>Fr", ">Fro\n>Fromx\n>>Fr", false},
        {">\n>>\n\n>", ">\n>>\n\n>", ">\n>>\n\n>", ">\n>>\n\n>", false},
        {">F>From x\n", ">F>From x\n", ">F>From x\n", ">F>From x\n", false},
        {">From ", ">From ", "From ", "From ", true},
        {">From", ">From", ">From", ">From", false},
        {">from x\n>From x\r\n", ">from x\n>From x\r\n", ">from x\nFrom x\r\n", ">from x\nFrom x\r\n", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *expected[] = {[MBOX_PLAIN] = cases[i].plain, [MBOX_O] = cases[i].o, [MBOX_RD] = cases[i].rd};
        size_t size = strlen(cases[i].text);
        for (size_t quoting = 0; quoting < COUNT(expected); quoting++)
            for (size_t piece = 1; piece <= size + 1; piece++) {
                struct mbox_unquote unquote = {.quoting = (enum mbox_quoting)quoting};
                GString *out = g_string_new(NULL);
                for (size_t at = 0; at < size; at += piece)
                    mbox_unquote_feed(&unquote, cases[i].text + at, MIN(piece, size - at), out);
                mbox_unquote_end(&unquote, out);
                if (strcmp(out->str, expected[quoting]) != 0 || unquote.met != cases[i].met)
                    fail_msg("\"%s\" as %zu in pieces of %zu: \"%s\"", cases[i].text, quoting, piece, out->str);
                g_string_free(out, TRUE);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),       cmocka_unit_test(test_scan_across_pieces),
        cmocka_unit_test(test_from_times), cmocka_unit_test(test_writers),
        cmocka_unit_test(test_unclear),    cmocka_unit_test(test_nul),
        cmocka_unit_test(test_unquote),
    };
    return cmocka_run_group_tests_name("mbox", tests, NULL, NULL);
}
