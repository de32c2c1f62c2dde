/* SPDX-License-Identifier: ISC
 *
 * mbox: where messages begin and end in each dialect, and its quoting, for any pieces in which it is read.
 *
 * Seen to fail with: a "From " line taken for text because it has no date, no empty line before it, or no field after it;
 * Content-Length believed in mboxrd, or not checked in mboxcl2, or taken to end at a bare CR; an MMDF folder or a file with
 * bare CR taken for one message; marks held back at the end of a piece forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "replay/replay.h"

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

/* Returns how many messages a file has; -1: rejected. */
static int scan(const char *text, size_t size, enum mbox_dialect dialect, GArray **ret_found, struct error *error)
{
    GArray *found = NULL;
    int fd = file_of(text, size);
    bool good = mbox_scan(fd, dialect, &found, error);
    close(fd);
    *ret_found = found;
    return !good ? -1 : found != NULL ? (int)found->len : 0;
}

static void test_scan(void **state)
{
    static const struct {
        const char *name, *text;
        const char *messages[4]; /* none: not an mbox */
        enum mbox_dialect dialect;
    } cases[] = {
        {"nothing", "", {NULL}, MBOX_RD},
        {"a message", "Subject: a\n\nFrom x\n", {NULL}, MBOX_RD},
        {"a message, declared as mboxcl2", "Subject: a\n\nFrom x\n", {NULL}, MBOX_CL2},
        {"a quoted From_ line", ">" F "Subject: a\n\n", {NULL}, MBOX_RD},
        {"one", F "A: a\n\nb\n\n", {"A: a\n\nb\n"}, MBOX_O},
        {"two", F "A: a\n\nb\n\n" F "A: b\n\nc\n\n", {"A: a\n\nb\n", "A: b\n\nc\n"}, MBOX_RD},
        {"no empty line at the end", F "A: a\n\nb\n\n" F "A: b\n\nc\n", {"A: a\n\nb\n", "A: b\n\nc\n"}, MBOX_RD},
        {"no line end at the end", F "A: a\n\nb", {"A: a\n\nb"}, MBOX_RD},
        {"an empty body", F "A: a\n\n\n" F "A: b\n\n\n", {"A: a\n\n", "A: b\n\n"}, MBOX_RD},
        {"a header and no more", F "A: a\n\n" F "A: b\n", {"A: a\n", "A: b\n"}, MBOX_RD},
        {"empty lines at the end of a body",
         F "A: a\n\nb\n\n\n\n" F "A: b\n\nc\n\n",
         {"A: a\n\nb\n\n\n", "A: b\n\nc\n"},
         MBOX_RD},
        {"CRLF",
         "From a Fri Aug  1 10:00:00 2025\r\nA: a\r\n\r\nb\r\n\r\nFrom b Fri Aug  1 10:00:00 2025\r\nA: b\r\n\r\nc\r\n\r\n",
         {"A: a\r\n\r\nb\r\n", "A: b\r\n\r\nc\r\n"},
         MBOX_RD},
        {"CR CR LF",
         "From - Fri Aug  1 10:00:00 2025\r\r\nA: a\r\r\n\r\r\nb\r\r\n\r\r\nFrom - Fri Aug  1 10:00:00 2025\r\r\nA: b\r\r\n",
         {"A: a\r\r\n\r\r\nb\r\r\n", "A: b\r\r\n"},
         MBOX_RD},
        {"a byte order mark", "\xef\xbb\xbf" F "A: a\n\nb\n\n" F "A: b\n", {"A: a\n\nb\n", "A: b\n"}, MBOX_RD},
        {"empty lines first", "\r\n\n" F "A: a\n\nb\n\n" F "A: b\n", {"A: a\n\nb\n", "A: b\n"}, MBOX_RD},
        {"quoted text", F "A: a\n\n>From x\n>>From y\n\n", {"A: a\n\n>From x\n>>From y\n"}, MBOX_RD},
        {"another program's line behind, quoted", F ">" F "A: a\n\nb\n", {">" F "A: a\n\nb\n"}, MBOX_RD},
        {"From alone, within", F "A: a\n\nb\n\nFrom\nSubject: b\n", {"A: a\n\nb\n\nFrom\nSubject: b\n"}, MBOX_RD},
        {"a bare CR in text", F "A: a\n\nb\rFrom x\n", {"A: a\n\nb\rFrom x\n"}, MBOX_RD},
        {"a length that is too short",
         F "Content-Length: 1\n\nbc\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 1\n\nbc\n", "A: b\n\nc\n"},
         MBOX_RD},
        {"a length that is too long",
         F "Content-Length: 9999\n\nb\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 9999\n\nb\n", "A: b\n\nc\n"},
         MBOX_RD},
        {"a length beyond all files",
         F "Content-Length: 9223372036854775807\n\nb\n\n" F "A: b\n",
         {"Content-Length: 9223372036854775807\n\nb\n", "A: b\n"},
         MBOX_RD},
        {"a length over the empty line",
         F "Content-Length: 3\n\nb\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 3\n\nb\n", "A: b\n\nc\n"},
         MBOX_RD},
        {"a length to a bare CR",
         F "Content-Length: 56\n\nb\n\n" F "A: b\n\n\r\r\rFrom x\n\n" F "A: c\n\nd\n\n",
         {"Content-Length: 56\n\nb\n", "A: b\n\n\r\r\rFrom x\n", "A: c\n\nd\n"},
         MBOX_RD},
        {"a length to the middle of a line",
         F "Content-Length: 2\n\n: " F "A: b\n",
         {"Content-Length: 2\n\n: " F "A: b\n"},
         MBOX_RD},
        {"unquoted text",
         F "content-length: 20\n\nb\n\nFrom x\n\n>From y\n\n\n" F "Content-Length: 2\n\nc\n\n",
         {"content-length: 20\n\nb\n\nFrom x\n\n>From y\n\n", "Content-Length: 2\n\nc\n"},
         MBOX_CL2},
        {"text that looks like a message",
         F "Content-Length: 58\n\nb\n\n" F "A: b\n\nc\n\n" F "Content-Length: 0\n\n",
         {"Content-Length: 58\n\nb\n\n" F "A: b\n\nc\n", "Content-Length: 0\n\n"},
         MBOX_CL2},
        {"a length without the last line end",
         F "Content-Length: 1\n\nb\n\n" F "Content-Length: 1\n\nc\n",
         {"Content-Length: 1\n\nb", "Content-Length: 1\n\nc"},
         MBOX_CL2},
        {"no empty line between",
         F "Content-Length: 2\n\nb\n" F "Content-Length: 1\n\nc",
         {"Content-Length: 2\n\nb\n", "Content-Length: 1\n\nc"},
         MBOX_CL2},
        {"lengths with CRLF",
         "From - Fri Aug  1 10:00:00 2025\r\nContent-Length: 3\r\n\r\nb\r\n\r\n"
         "From - Fri Aug  1 10:00:00 2025\r\nContent-Length: 3\r\n\r\nc\r\n\r\n",
         {"Content-Length: 3\r\n\r\nb\r\n", "Content-Length: 3\r\n\r\nc\r\n"},
         MBOX_CL2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        GArray *found;
        struct error error = {.text = ""};
        int expected = 0;
        while (expected < (int)COUNT(cases[i].messages) && cases[i].messages[expected] != NULL)
            expected++;
        int count = scan(cases[i].text, strlen(cases[i].text), cases[i].dialect, &found, &error);
        if (count != expected)
            fail_msg("%s: %d messages, %s", cases[i].name, count, error.text);
        for (int n = 0; n < expected; n++) {
            const struct mbox_message *message = &g_array_index(found, struct mbox_message, n);
            char *text = g_strndup(cases[i].text + message->offset, (size_t)message->size);
            if (strcmp(text, cases[i].messages[n]) != 0 || message->from_time != AT)
                fail_msg("%s, %d: \"%s\" of %lld", cases[i].name, n, text, (long long)message->from_time);
            g_free(text);
        }
        g_clear_pointer(&found, g_array_unref);
    }
}

/* The beginning of a line falls on each side of a read boundary. */
static void test_scan_across_pieces(void **state)
{
    (void)state;
    for (size_t fill = 65536 - 160; fill < 65536; fill++) {
        GArray *found;
        struct error error;
        GString *text = g_string_new(F "A: a\n\n");
        for (size_t i = 0; i < fill; i++)
            g_string_append_c(text, i % 70 == 69 ? '\n' : 'x');
        g_string_append(text, "\n\n");
        gint64 second = (gint64)text->len + (gint64)strlen(F);
        g_string_append(text, F "A: b\n\nc\n\n");
        assert_int_equal(scan(text->str, text->len, MBOX_RD, &found, &error), 2);
        assert_int_equal(g_array_index(found, struct mbox_message, 1).offset, second);
        assert_int_equal(g_array_index(found, struct mbox_message, 1).size, strlen("A: b\n\nc\n"));
        g_array_unref(found);
        g_string_free(text, TRUE);
    }
}

/* Lines as programs write them are recognised or rejected, never text, at the beginning and later. */
static void test_from_lines(void **state)
{
    static const struct {
        const char *line;
        long long seconds; /* -1: rejected */
    } cases[] = {
        {"From lisa@example.org Fri Aug  1 10:00:00 2025", AT},
        {"From lisa@example.org  Fri Aug 1 10:00:00 2025 ", AT},
        {"From MAILER-DAEMON Fri Aug 01 10:00:00 2025", AT},
        {"From \"lisa s\"@example.org Fri Aug  1 10:00:00 2025", AT},
        {"From Fri Aug  1 10:00:00 2025", AT},
        {"From - Fri Aug  1 10:00:00 2025", AT},
        {"From 1844347792267117879@xxx Fri Aug 01 10:00:00 +0000 2025", AT},
        {"From lisa Fri Aug  1 10:00:00 UTC 2025", AT},
        {"From lisa Thu Jan  1 00:00:00 1970", 0},
        {"From lisa Fri Feb 31 10:00:00 2025", 0},
        {"From ", -1},
        {"From - ", -1},
        {"From lisa", -1},
        {"From lisa@example.org", -1},
        {"From 1844347792267117879@xxx", -1},
        {"From the beginning", -1},
        {"From ???@\?\?\? Fri Aug 01 10:00:00 2025", -1},
        {"From lisa@example.org Fri Aug  1 10:00 2025", -1},
        {"From lisa@example.org Fri Aug  1 10:00:00 2025 remote from host", -1},
        {"From lisa@example.org Fri, 1 Aug 2025 10:00:00 +0000", -1},
        {"From lisa@example.org 2025-08-01T10:00:00Z", -1},
        {"From lisa at example.org Fri Aug  1 10:00:00 2025", -1},
        {"From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001", -1},
    };
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const char *line = cases[i / 2].line;
        GArray *found;
        struct error error = {.text = ""};
        char *text = g_strdup_printf("%s%s\nA: a\n\nb\n", i % 2 ? F "A: a\n\nb\n\n" : "", line);
        int count = scan(text, strlen(text), MBOX_RD, &found, &error);
        long long seconds = count > 0 ? (long long)g_array_index(found, struct mbox_message, count - 1).from_time : -1;
        if (seconds != cases[i / 2].seconds || (count > 0 && count != 1 + (int)(i % 2)))
            fail_msg("%s: %d of %lld, %s", line, count, seconds, error.text);
        g_clear_pointer(&found, g_array_unref);
        g_free(text);
    }
}

/* What contradicts the dialect, or may be read in two ways, is rejected with the number of its line. */
static void test_rejected(void **state)
{
    static const struct {
        const char *name, *text;
        int line;
        const char *hint;
        enum mbox_dialect dialect;
    } cases[] = {
        {"prose", F "A: a\n\n\nFrom the beginning\nb\n", 5, "'>'", MBOX_RD},
        {"prose in mboxo", F "A: a\n\n\nFrom the beginning\nb\n", 5, "'>'", MBOX_O},
        {"prose within a paragraph", F "A: a\n\nb\nFrom the beginning\n", 5, "'>'", MBOX_RD},
        {"prose first", "From the beginning\nof time\n", 1, "*.eml", MBOX_RD},
        {"prose after empty lines", "\n\nFrom the beginning\nof time\n", 3, "*.eml", MBOX_RD},
        {"prose only", "From here", 1, "*.eml", MBOX_CL2},
        {"From alone first", "From\nSubject: x\n\nb\n", 1, "date", MBOX_RD},
        {"no empty line before", F "A: a\n\nb\n" F "A: b\n\nc\n", 5, "empty line", MBOX_RD},
        {"inside of a header", F "A: a\n" F "A: b\n\nc\n", 3, "empty line", MBOX_RD},
        {"two in a row", F F "A: a\n\nb\n", 2, "empty line", MBOX_RD},
        {"prose behind", F "A: a\n\nb\n\n" F "c\n", 7, "'>'", MBOX_RD},
        {"an empty line behind", F "\nb\n", 2, "'>'", MBOX_RD},
        {"nothing behind", F "A: a\n\nb\n\n" F, 6, "'>'", MBOX_RD},
        {"MMDF", "\1\1\1\1\nA: a\n\nb\n\1\1\1\1\n", 1, "MMDF", MBOX_RD},
        {"Eudora", "From ???@\?\?\? Fri Aug 01 10:00:00 2025\nA: a\n\nb\n", 1, "Eudora", MBOX_RD},
        {"CR only", "From lisa Fri Aug  1 10:00:00 2025\rA: a\r\rb\r", 1, "tr '", MBOX_RD},
        {"CR only, later", F "A: a\n\nb\n\nFrom lisa Fri Aug  1 10:00:00 2025\rA: a\r\rb\r", 6, "tr '", MBOX_RD},
        {"a length over a message", F "Content-Length: 58\n\nb\n\n" F "A: b\n\nc\n\n" F "A: c\n", 6, "mboxcl2",
         MBOX_RD},
        {"a length to the end", F "Content-Length: 58\n\nb\n\n" F "A: b\n\nc\n", 6, "mboxcl2", MBOX_O},
        {"a length over prose", F "Content-Length: 11\n\nb\n\nFrom x\n\n\n" F "A: b\n", 6, "mboxcl2", MBOX_RD},
        {"no length", F "A: a\n\nb\n\n" F "Content-Length: 2\n\nb\n", 3, "Content-Length", MBOX_CL2},
        {"no length, no body", F "A: a\n", 2, "Content-Length", MBOX_CL2},
        {"no number", F "Content-Length: 2x\n\nb\n", 3, "Content-Length", MBOX_CL2},
        {"a negative length", F "Content-Length: -2\n\nb\n", 3, "Content-Length", MBOX_CL2},
        {"a length beyond all numbers", F "Content-Length: 18446744073709551618\n\nb\n", 3, "Content-Length", MBOX_CL2},
        {"two lengths", F "Content-Length: 2\nContent-Length: 2\n\nb\n", 4, "two", MBOX_CL2},
        {"too short", F "Content-Length: 2\n\nb\nc\n\n" F "Content-Length: 2\n\nb\n", 3, "mboxrd", MBOX_CL2},
        {"too long", F "Content-Length: 4\n\nb\n\n" F "Content-Length: 2\n\nb\n", 3, "mboxrd", MBOX_CL2},
        {"too long for the file", F "Content-Length: 2\n\nb\n\n" F "Content-Length: 3\n\nb\n", 8, "mboxrd", MBOX_CL2},
        {"to prose", F "Content-Length: 3\n\nb\n\nFrom here on\nc\n", 3, "mboxrd", MBOX_CL2},
        {"to the middle of a line", F "Content-Length: 2\n\n: " F "Content-Length: 0\n\n", 3, "mboxrd", MBOX_CL2},
        {"to a bare CR", F "Content-Length: 1\n\nb\r" F "Content-Length: 0\n\n", 3, "mboxrd", MBOX_CL2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        GArray *found;
        struct error error = {.text = ""};
        int count = scan(cases[i].text, strlen(cases[i].text), cases[i].dialect, &found, &error);
        char *line = base_printf("line %d: ", cases[i].line);
        if (count >= 0 || !g_str_has_prefix(error.text, line) || strstr(error.text, cases[i].hint) == NULL)
            fail_msg("%s: %d messages, %s", cases[i].name, count, error.text);
        assert_null(found);
        base_free(&line);
    }
}

/* A NUL does not end a line, so that the next one does not follow an empty line. */
static void test_nul(void **state)
{
    static const char text[] = F "A: a\n\n\0\n" F "c\n";
    (void)state;
    GArray *found;
    struct error error = {.text = ""};
    assert_int_equal(scan(text, sizeof(text) - 1, MBOX_RD, &found, &error), -1);
    assert_true(g_str_has_prefix(error.text, "line 5: "));
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
        const char *expected[] = {[MBOX_CL2] = cases[i].plain, [MBOX_O] = cases[i].o, [MBOX_RD] = cases[i].rd};
        size_t size = strlen(cases[i].text);
        for (size_t dialect = 0; dialect < COUNT(expected); dialect++)
            for (size_t piece = 1; piece <= size + 1; piece++) {
                struct mbox_unquote unquote = {.dialect = (enum mbox_dialect)dialect};
                GString *out = g_string_new(NULL);
                for (size_t at = 0; at < size; at += piece)
                    mbox_unquote_feed(&unquote, cases[i].text + at, MIN(piece, size - at), out);
                mbox_unquote_end(&unquote, out);
                if (strcmp(out->str, expected[dialect]) != 0 || unquote.met != cases[i].met)
                    fail_msg("\"%s\" as %zu in pieces of %zu: \"%s\"", cases[i].text, dialect, piece, out->str);
                g_string_free(out, TRUE);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan),       cmocka_unit_test(test_scan_across_pieces),
        cmocka_unit_test(test_from_lines), cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_nul),        cmocka_unit_test(test_unquote),
    };
    return cmocka_run_group_tests_name("mbox", tests, NULL, NULL);
}
