/* SPDX-License-Identifier: ISC
 *
 * LMTP's commands and its stream, with the input cut at every point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lmtp/lmtp.h"
#include "lmtp/lmtp_internal.h"

static void test_verbs(void **state)
{
    static const struct {
        const char *line;
        enum lmtp_verb verb;
        const char *arguments;
    } cases[] = {
        {"LHLO host", LMTP_LHLO, "host"},
        {"mail FROM:<>", LMTP_MAIL, "FROM:<>"},
        {"Data", LMTP_DATA, ""},
        {"DATAX", LMTP_UNKNOWN, ""},
        {"", LMTP_UNKNOWN, ""},
        {"QUIT ", LMTP_QUIT, ""},
        {"EHLO x", LMTP_HELO, "x"},
        {"MAI", LMTP_UNKNOWN, ""},
        {"XFORWARD IDENT=1", LMTP_XFORWARD, "IDENT=1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *arguments;
        assert_int_equal(lmtp_command_verb(cases[i].line, &arguments), cases[i].verb);
        assert_string_equal(arguments, cases[i].arguments);
    }
}

static void test_paths(void **state)
{
    static const struct {
        const char *arguments, *path, *parameters; /* path NULL: refused */
    } cases[] = {
        {"TO:<scuba@example.org>", "scuba@example.org", ""},
        {"to: <scuba@example.org> ORCPT=x", "scuba@example.org", " ORCPT=x"},
        {"TO:<>", "", ""},
        {"TO:<\"a b\"@example.org>", "a b@example.org", ""},
        {"TO:<\"a>b\\\"c\"@x>", "a>b\"c@x", ""},
        {"TO:<@a,@b:scuba@x>", "scuba@x", ""},
        {"TO:scuba@x", NULL, NULL},
        {"TO:<scuba@x", NULL, NULL},
        {"FROM:<scuba@x>", NULL, NULL},
        {"", NULL, NULL},
        {"TO:<a@x>b", NULL, NULL},
        {"TO:<a<b@x>", NULL, NULL},
        {"TO:<\"a@x>", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *path OD_CLEANUP(base_free) = NULL;
        const char *parameters = NULL;
        assert_int_equal(lmtp_command_path(cases[i].arguments, "TO:", &path, &parameters), cases[i].path != NULL);
        if (cases[i].path == NULL) {
            assert_null(path);
            continue;
        }
        assert_string_equal(path, cases[i].path);
        assert_string_equal(parameters, cases[i].parameters);
    }
}

static void test_parameters(void **state)
{
    const char *at = "  SIZE=100 SMTPUTF8 X=a=b";
    static const char *const expected[][2] = {{"SIZE", "100"}, {"SMTPUTF8", ""}, {"X", "a=b"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char *name OD_CLEANUP(base_free) = NULL;
        char *value OD_CLEANUP(base_free) = NULL;
        assert_true(lmtp_command_parameter(&at, &name, &value));
        assert_string_equal(name, expected[i][0]);
        assert_string_equal(value, expected[i][1]);
    }
    char *name = NULL, *value = NULL;
    assert_false(lmtp_command_parameter(&at, &name, &value));
    assert_null(name);
}

static void test_xtext(void **state)
{
    static const struct {
        const char *text, *decoded; /* NULL: refused */
    } cases[] = {
        {"4XyZ", "4XyZ"}, {"a+2Bb", "a+b"}, {"+41", "A"},  {"", ""},
        {"+", NULL},      {"+4", NULL},     {"+4g", NULL}, {"+00", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text OD_CLEANUP(base_free) = base_strdup(cases[i].text);
        assert_int_equal(lmtp_command_xtext(text), cases[i].decoded != NULL);
        if (cases[i].decoded != NULL)
            assert_string_equal(text, cases[i].decoded);
    }
}

static void test_orcpt(void **state)
{
    static const struct {
        const char *value, *address; /* NULL: none */
    } cases[] = {
        {"rfc822;a@x", "a@x"},
        {"RFC822;a+2Bb@x", "a+b@x"},
        {"rfc822;+FF@x", "\xff@x"},
        {"rfc822;", NULL},
        {"rfc822", NULL},
        {"", NULL},
        {"a@x", NULL},
        {"utf-8;a@x", NULL},
        {"rfc822;a+", NULL},
        {"rfc822;a+00b", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *address OD_CLEANUP(base_free) = lmtp_command_orcpt(cases[i].value);
        assert_int_equal(address != NULL, cases[i].address != NULL);
        if (address != NULL)
            assert_string_equal(address, cases[i].address);
    }
}

struct collected {
    char bytes[256];
    size_t size;
};

static void collect(void *context, const void *bytes, size_t size)
{
    struct collected *collected = context;
    memcpy(collected->bytes + collected->size, bytes, size);
    collected->size += size;
}

/* The writer's pieces arrive one by one: the stream is called only after each was written, to a datagram socket. */
static void write_pieces(int fd, const char *text, size_t size, size_t piece)
{
    for (size_t at = 0; at < size; at += piece)
        assert_true(write(fd, text + at, size - at < piece ? size - at : piece) > 0);
}

static void test_data(void **state)
{
    static const struct {
        const char *wire, *message; /* NULL: no end */
    } cases[] = {
        {"a\r\n.\r\n", "a\r\n"},
        {".\r\n", ""},
        {"..\r\n.\r\n", ".\r\n"},
        {"..a\r\n...\r\n.\r\n", ".a\r\n..\r\n"},
        {".a\r\n.\r\n", "a\r\n"},
        {"a\n.\n.\r\nb\r\n.\r\n", "a\n.\n.\r\nb\r\n"},
        {"a\r\n.\nb\r\n.\r\n", "a\r\n\nb\r\n"},
        {"a\r.\r\n.\r\n", "a\r.\r\n"},
        {"a\r\n.\r.\r\n.\r\n", "a\r\n\r.\r\n"},
        {"a\r\n.\r\r\n.\r\n", "a\r\n\r\r\n"},
        {"a\r\r\n.\r\n", "a\r\r\n"},
        {"\r\n\r\n.\r\n", "\r\n\r\n"},
        {"a\r\n.\r", NULL},
        {"a\r\n.", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = strlen(cases[i].wire);
        for (size_t piece = 1; piece <= size + 1; piece++) {
            int sockets[2];
            struct collected collected = {.size = 0};
            assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
            write_pieces(sockets[1], cases[i].wire, size, piece);
            if (cases[i].message != NULL)
                assert_true(write(sockets[1], "QUIT\r\n", 6) == 6);
            close(sockets[1]);
            struct lmtp_stream *stream = lmtp_stream_new(sockets[0], sockets[0], INT64_MAX);
            enum lmtp_read result = lmtp_stream_data(stream, 10000, INT64_MAX, collect, &collected);
            assert_int_equal(result, cases[i].message != NULL ? LMTP_READ_OK : LMTP_READ_END);
            if (cases[i].message != NULL) {
                char line[16];
                assert_int_equal(collected.size, strlen(cases[i].message));
                assert_memory_equal(collected.bytes, cases[i].message, collected.size);
                assert_int_equal(lmtp_stream_line(stream, line, sizeof(line), base_now_ms() + 10000), LMTP_READ_OK);
                assert_string_equal(line, "QUIT");
            }
            lmtp_stream_free(&stream);
            close(sockets[0]);
        }
    }
}

static void test_lines(void **state)
{
    static const char wire[] = "short\r\nbare\n\r\nmuch too long a line\r\nnul\0here\r\nlast\r\ncut";
    static const struct {
        enum lmtp_read result;
        const char *line;
    } expected[] = {
        {LMTP_READ_OK, "short"},    {LMTP_READ_OK, "bare"}, {LMTP_READ_OK, ""},    {LMTP_READ_TOO_LONG, NULL},
        {LMTP_READ_TOO_LONG, NULL}, {LMTP_READ_OK, "last"}, {LMTP_READ_END, NULL},
    };
    (void)state;
    for (size_t piece = 1; piece <= sizeof(wire); piece++) {
        int sockets[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
        write_pieces(sockets[1], wire, sizeof(wire) - 1, piece);
        close(sockets[1]);
        struct lmtp_stream *stream = lmtp_stream_new(sockets[0], sockets[0], INT64_MAX);
        for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
            char line[12];
            assert_int_equal(lmtp_stream_line(stream, line, sizeof(line), base_now_ms() + 10000), expected[i].result);
            if (expected[i].line != NULL)
                assert_string_equal(line, expected[i].line);
        }
        lmtp_stream_free(&stream);
        close(sockets[0]);
    }
}

/* A client that keeps sending a little is cut off all the same. */
static void test_trickle(void **state)
{
    int sockets[2];
    struct collected collected = {.size = 0};
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    assert_int_equal(write(sockets[1], "a", 1), 1);
    struct lmtp_stream *stream = lmtp_stream_new(sockets[0], sockets[0], INT64_MAX);
    int64_t begun = base_now_ms();
    assert_int_equal(lmtp_stream_data(stream, 60000, begun + 500, collect, &collected), LMTP_READ_TIMEOUT);
    assert_true(base_now_ms() - begun < 30000);
    assert_int_equal(collected.size, 1);
    assert_int_equal(write(sockets[1], "b", 1), 1);
    assert_int_equal(lmtp_stream_data(stream, 60000, base_now_ms(), collect, &collected), LMTP_READ_TIMEOUT);
    assert_int_equal(collected.size, 1);
    lmtp_stream_free(&stream);
    close(sockets[0]);
    close(sockets[1]);
}

static void test_timeout_and_replies(void **state)
{
    int sockets[2];
    char line[16], read_back[64];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    struct lmtp_stream *stream = lmtp_stream_new(sockets[0], sockets[0], INT64_MAX);
    lmtp_stream_reply(stream, "250 %s", "a\r\nb");
    assert_int_equal(lmtp_stream_line(stream, line, sizeof(line), base_now_ms() + 10), LMTP_READ_TIMEOUT);
    assert_int_equal(read(sockets[1], read_back, sizeof(read_back)), 10); /* flushed before the wait */
    assert_memory_equal(read_back, "250 a  b\r\n", 10);
    lmtp_stream_free(&stream);
    close(sockets[0]);
    close(sockets[1]);
}

/* A session in which the client sends `said` and then listens ends with these replies. */
static void check_session(struct lmtp_times times, const char *said, const char *last_reply)
{
    int sockets[2];
    char replies[2048];
    size_t size = 0;
    struct config *config = config_defaults();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    assert_int_equal(write(sockets[1], said, strlen(said)), strlen(said));
    int64_t begun = base_now_ms();
    struct lmtp_terms terms = LMTP_ALONE;
    terms.times = times;
    struct lmtp_cache kept = lmtp_cache_new(config);
    lmtp_serve(config, sockets[0], sockets[0], &terms, &kept);
    lmtp_cache_clear(&kept);
    assert_true(base_now_ms() - begun < 30000); /* the short one of the time limits ended it */
    close(sockets[0]);
    for (ssize_t n; (n = read(sockets[1], replies + size, sizeof(replies) - 1 - size)) > 0;)
        size += (size_t)n;
    replies[size] = '\0';
    assert_non_null(strstr(replies, last_reply));
    assert_ptr_equal(strstr(replies, "421"), strstr(replies, last_reply));
    assert_string_equal(replies + size - 2, "\r\n");
    close(sockets[1]);
    config_free(&config);
}

/* A session ends with 421 and nothing more if it is idle, and before Postfix's time limit would kill it. */
static void test_sessions_end(void **state)
{
    const struct lmtp_times idle = {.session = 60000, .last_data = 60000, .idle = 20};
    const struct lmtp_times old = {.session = 0, .last_data = 60000, .idle = 60000};
    const struct lmtp_times slow = {.session = 1000, .last_data = 20, .idle = 60000};
    (void)state;
    check_session(idle, "LHLO x\r\n", "421 4.4.2 ");
    check_session(idle, "LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@x>\r\nDATA\r\nno end", "421 4.4.2 ");
    check_session(old, "LHLO x\r\nMAIL FROM:<>\r\n", "421 4.3.2 ");
    check_session(slow, "LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@x>\r\nDATA\r\nno end", "421 4.4.2 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbs),        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_parameters),   cmocka_unit_test(test_xtext),
        cmocka_unit_test(test_orcpt),        cmocka_unit_test(test_data),
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_trickle),
        cmocka_unit_test(test_sessions_end), cmocka_unit_test(test_timeout_and_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
