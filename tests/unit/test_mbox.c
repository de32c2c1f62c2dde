/* SPDX-License-Identifier: ISC
 *
 * mbox: where messages begin and end, and its quoting, whatever the pieces in which it is read.
 *
 * Seen to fail with: From_ lines believed without the empty line before them; Content-Length believed unseen; marks held
 * back at the end of a piece forgotten. */
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
        const char *messages[4];    /* none: no mbox */
        enum mbox_quoting quoting;
    } cases[] = {
        {"nothing", "", {NULL}, MBOX_O},
        {"a message", "Subject: a\n\nFrom x\n", {NULL}, MBOX_O},
        {"a quoted From_ line", ">" F "Subject: a\n\n", {NULL}, MBOX_O},
        {"a From_ line without a date", "From lisa\nSubject: a\n\n", {NULL}, MBOX_O},
        {"one", F "A: a\n\nb\n\n", {"A: a\n\nb\n"}, MBOX_O},
        {"two", F "A: a\n\nb\n\n" F "A: b\n\nc\n\n", {"A: a\n\nb\n", "A: b\n\nc\n"}, MBOX_O},
        {"no empty line at the end", F "A: a\n\nb\n\n" F "A: b\n\nc\n", {"A: a\n\nb\n", "A: b\n\nc\n"}, MBOX_O},
        {"no line end at the end", F "A: a\n\nb", {"A: a\n\nb"}, MBOX_O},
        {"an empty body", F "A: a\n\n\n" F "A: b\n\n\n", {"A: a\n\n", "A: b\n\n"}, MBOX_O},
        {"a header and no more", F "A: a\n\n" F "A: b\n", {"A: a\n", "A: b\n"}, MBOX_O},
        {"empty lines at the end of a body", F "A: a\n\nb\n\n\n\n" F "A: b\n\nc\n\n", {"A: a\n\nb\n\n\n", "A: b\n\nc\n"}, MBOX_O},
        {"a From_ line inside of a paragraph", F "A: a\n\nb\n" F "c\n\n", {"A: a\n\nb\n" F "c\n"}, MBOX_O},
        {"a From line that is none", F "A: a\n\nb\n\nFrom here on\n\n", {"A: a\n\nb\n\nFrom here on\n"}, MBOX_O},
        {"CRLF", "From a Fri Aug  1 10:00:00 2025\r\nA: a\r\n\r\nb\r\n\r\nFrom b Fri Aug  1 10:00:00 2025\r\nA: b\r\n\r\nc\r\n\r\n",
         {"A: a\r\n\r\nb\r\n", "A: b\r\n\r\nc\r\n"}, MBOX_O},
        {"mboxrd", F "A: a\n\n>From x\n>>From y\n\n", {"A: a\n\n>From x\n>>From y\n"}, MBOX_RD},
        {"mboxo", F "A: a\n\n>From x\n>> From y\n\n", {"A: a\n\n>From x\n>> From y\n"}, MBOX_O},
        {"mboxcl2", F "Content-Length: 51\n\nb\n\n" F "\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 51\n\nb\n\n" F "\n", "A: b\n\nc\n"}, MBOX_PLAIN},
        {"a length that is too short", F "Content-Length: 1\n\nbc\n\n" F "A: b\n\nc\n\n", {"Content-Length: 1\n\nbc\n", "A: b\n\nc\n"}, MBOX_O},
        {"a length that is too long", F "Content-Length: 9999\n\nb\n\n" F "A: b\n\nc\n\n",
         {"Content-Length: 9999\n\nb\n", "A: b\n\nc\n"}, MBOX_O},
        {"a length that is none", F "Content-Length: -5\n\nb\n\n" F "A: b\n\nc\n\n", {"Content-Length: -5\n\nb\n", "A: b\n\nc\n"}, MBOX_O},
        {"a length and no empty line", F "Content-Length: 2\n\nb\n" F "Content-Length: 2\n\nc\n",
         {"Content-Length: 2\n\nb\n", "Content-Length: 2\n\nc\n"}, MBOX_O},
        {"a length in the body", F "A: a\n\nContent-Length: 9\n\n" F "A: b\n\nc\n\n", {"A: a\n\nContent-Length: 9\n", "A: b\n\nc\n"}, MBOX_O},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        GArray *found = NULL;
        enum mbox_quoting quoting;
        struct fault fault;
        size_t expected = 0;
        int fd = file_of(cases[i].text, strlen(cases[i].text));
        while (expected < COUNT(cases[i].messages) && cases[i].messages[expected] != NULL)
            expected++;
        assert_true(mbox_scan(fd, &found, &quoting, &fault));
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

/* A line's beginning lies on each side of what is read at a time. */
static void test_scan_across_pieces(void **state)
{
    (void)state;
    for (size_t fill = 65536 - 160; fill < 65536; fill++) {
        GArray *found = NULL;
        enum mbox_quoting quoting;
        struct fault fault;
        GString *text = g_string_new(F "A: a\n\n");
        for (size_t i = 0; i < fill; i++)
            g_string_append_c(text, i % 70 == 69 ? '\n' : 'x');
        g_string_append(text, "\n\n");
        gint64 second = (gint64)text->len + (gint64)strlen(F);
        g_string_append(text, F "A: b\n\nc\n\n");
        int fd = file_of(text->str, text->len);
        assert_true(mbox_scan(fd, &found, &quoting, &fault));
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
        long long seconds;      /* -1: no From_ line */
    } cases[] = {
        {"From a@b Fri Aug  1 10:00:00 2025", AT},
        {"From Fri Aug 01 10:00:00 2025", AT},
        {"From \"a b\"@c Fri Aug  1 10:00 2025", AT},
        {"From a@b Fri Aug  1 10:00:00 +0000 2025", AT},
        {"From a@b  Fri, Aug  1 10:00:00 2025", AT},
        {"From a@b Fri Aug  1 2025", -1},
        {"From the Fri Aug office", -1},
        {"from a@b Fri Aug  1 10:00:00 2025", -1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        GArray *found = NULL;
        enum mbox_quoting quoting;
        struct fault fault;
        char *text = g_strdup_printf("%s\nA: a\n\nb\n", cases[i].line);
        int fd = file_of(text, strlen(text));
        assert_true(mbox_scan(fd, &found, &quoting, &fault));
        close(fd);
        long long seconds = found != NULL ? (long long)g_array_index(found, struct mbox_message, 0).from_time : -1;
        if (seconds != cases[i].seconds)
            fail_msg("%s: %lld", cases[i].line, seconds);
        g_clear_pointer(&found, g_array_unref);
        g_free(text);
    }
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
        cmocka_unit_test(test_scan), cmocka_unit_test(test_scan_across_pieces), cmocka_unit_test(test_from_times),
        cmocka_unit_test(test_unquote),
    };
    return cmocka_run_group_tests_name("mbox", tests, NULL, NULL);
}
