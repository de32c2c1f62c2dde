/* SPDX-License-Identifier: ISC
 *
 * An early literal: what the server gets before the message is released, and what follows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mailbox/mailbox_internal.h"

#define COMMAND "A1 APPEND \"INBOX\" \"01-Jan-1970 00:00:00 +0000\" "
#define MB ((size_t)1024 * 1024)

static char big[MB + 1];
static char peer_name[] = "server";

/* A session, and the server's end of its connection. */
struct session {
    struct imap imap;
    struct mailbox mailbox;
    struct iovec pieces[2];
    int pair[2];
};

static void begin_session(struct session *session, const char *capabilities)
{
    memset(session, 0, sizeof(*session));
    session->imap.peer_name = peer_name;
    session->imap.timeout = 20;
    session->imap.response_max = IMAP_RESPONSE_MAX;
    session->imap.heard_ms = base_now_ms();
    if (capabilities != NULL)
        session->imap.capabilities = base_strdup(capabilities);
    session->mailbox.imap = &session->imap;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, session->pair), 0);
    imap_stream_open(&session->imap, session->pair[0]);
}

static void end_session(struct session *session)
{
    imap_stream_drop(&session->imap);
    close(session->pair[1]);
    mailbox_append_clear(&session->mailbox.appending);
    free(session->imap.capabilities);
    free(session->imap.bye_text);
    free(session->imap.bytes);
}

/* In two pieces. */
static void begin(struct session *session, const char *text, size_t size, bool (*wanted)(void *context))
{
    session->pieces[0] = (struct iovec){(char *)(uintptr_t)text, size / 2};
    session->pieces[1] = (struct iovec){(char *)(uintptr_t)text + size / 2, size - size / 2};
    const struct append append = {
        .mailbox = "INBOX", .pieces = session->pieces, .piece_count = 2, .wanted = wanted, .context = session};
    mailbox_append_begin(&session->mailbox, &append);
}

/* What has arrived at the server, up to 255 bytes. */
static const char *arrived(const struct session *session)
{
    static char bytes[256];
    ssize_t n = recv(session->pair[1], bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
    bytes[n > 0 ? n : 0] = '\0';
    return bytes;
}

static void reply(const struct session *session, const char *line)
{
    assert_int_equal(send(session->pair[1], line, strlen(line), MSG_NOSIGNAL), strlen(line));
}

static enum append_result finish(struct session *session)
{
    uint32_t uidvalidity, uid;
    struct error error;
    return mailbox_append(&session->mailbox, &uidvalidity, &uid, &error);
}

static bool discards_unsent(const struct session *session)
{
    struct linger linger = {.l_onoff = 0};
    socklen_t size = sizeof(linger);
    assert_int_equal(getsockopt(session->pair[0], SOL_SOCKET, SO_LINGER, &linger, &size), 0);
    return linger.l_onoff && linger.l_linger == 0;
}

static void test_the_last_byte_is_withheld(void **state)
{
    struct session session;
    (void)state;
    begin_session(&session, "IMAP4rev1 LITERAL+");
    begin(&session, "hello", 5, NULL);
    assert_string_equal(arrived(&session), COMMAND "{5+}\r\nhell");
    assert_true(discards_unsent(&session));
    mailbox_append_send(&session.mailbox, base_now_ms());
    assert_string_equal(arrived(&session), "o\r\n");
    assert_true(discards_unsent(&session));
    reply(&session, "A1 OK [APPENDUID 7 1] stored\r\n");
    assert_int_equal(finish(&session), APPEND_STORED);
    assert_false(discards_unsent(&session));
    end_session(&session);
}

static bool is_unwanted(void *context)
{
    assert_string_equal(arrived(context), COMMAND "{5+}\r\nhell");
    return false;
}

static void test_not_wanted(void **state)
{
    struct session session;
    (void)state;
    begin_session(&session, "LITERAL+");
    begin(&session, "hello", 5, is_unwanted);
    assert_int_equal(finish(&session), APPEND_NOT_SENT);
    assert_string_equal(arrived(&session), "");
    assert_null(session.imap.stream);
    end_session(&session);
}

static void test_connection_closed_before_the_last_byte(void **state)
{
    struct session session;
    (void)state;
    begin_session(&session, "LITERAL+");
    begin(&session, "hello", 5, NULL);
    reply(&session, "* BYE going down\r\n");
    assert_int_equal(shutdown(session.pair[1], SHUT_WR), 0);
    assert_int_equal(finish(&session), APPEND_LOST);
    assert_string_equal(arrived(&session), COMMAND "{5+}\r\nhell");
    assert_string_equal(arrived(&session), "");
    end_session(&session);
}

/* All of it, in order, whenever the server reads it. */
static void test_more_than_the_socket_takes(void **state)
{
    static char bytes[MB];
    struct session session;
    size_t size = 0;
    ssize_t n;
    (void)state;
    begin_session(&session, "LITERAL+");
    const int buffer = 65536;
    assert_int_equal(setsockopt(session.pair[0], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)), 0);
    begin(&session, big, 3 * (size_t)buffer, NULL);
    while ((n = recv(session.pair[1], bytes + size, sizeof(bytes) - size, MSG_DONTWAIT)) > 0)
        size += (size_t)n;
    assert_true(size > 0 && size < 3 * (size_t)buffer - 1);
    mailbox_append_send(&session.mailbox, base_now_ms());
    while ((n = recv(session.pair[1], bytes + size, sizeof(bytes) - size, MSG_DONTWAIT)) > 0)
        size += (size_t)n;
    assert_int_equal(size, strlen(COMMAND "{196608+}\r\n") + 3 * (size_t)buffer + 2);
    end_session(&session);
}

/* Its buffer stays full: the last byte was not sent, regardless of what the server says then. */
static void test_a_server_that_does_not_read(void **state)
{
    static const struct {
        const char *said;
        enum append_result result;
    } cases[] = {{"* OK still here\r\n", APPEND_LOST},
                 {"A1 NO [TOOBIG] too big\r\n", APPEND_TOOBIG},
                 {"A1 NO later\r\n", APPEND_UNAVAILABLE},
                 {"A1 BAD what?\r\n", APPEND_UNAVAILABLE},
                 {"A1 OK stored\r\n", APPEND_UNKNOWN}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct session session;
        begin_session(&session, "LITERAL+");
        begin(&session, big, MB, NULL);
        session.mailbox.appending.tried_again = true; /* ask nothing more */
        reply(&session, cases[i].said);
        assert_int_equal(finish(&session), cases[i].result);
        assert_null(session.imap.stream);
        end_session(&session);
    }
}

/* Before the last byte NO and BAD are certain, and OK is not. After NO the literal is completed, and the session goes on. A server that
 * does not know the literal would take its lines for commands: nothing more is said to it. */
static void test_responses(void **state)
{
    static const struct {
        const char *said;
        bool early, closed;
        enum append_result result;
    } cases[] = {
        {"A1 NO later\r\n", true, false, APPEND_UNAVAILABLE},
        {"* 1 EXISTS\r\nA1 NO [OVERQUOTA] full\r\n", true, false, APPEND_OVERQUOTA},
        {"A1 BAD what?\r\n", true, true, APPEND_UNAVAILABLE},
        {"A1 OK stored\r\n", true, true, APPEND_UNKNOWN},
        {"* 1 EXISTS\r\n+ go on\r\n", true, true, APPEND_UNKNOWN},
        {"A1 NO later\r\n", false, false, APPEND_ERROR},
        {"A1 NO [OVERQUOTA] full\r\n", false, false, APPEND_OVERQUOTA},
        {"A1 BAD what?\r\n", false, true, APPEND_ERROR},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct session session;
        begin_session(&session, "LITERAL+");
        begin(&session, "hello", 5, NULL);
        session.mailbox.appending.tried_again = true; /* ask nothing more */
        assert_string_equal(arrived(&session), COMMAND "{5+}\r\nhell");
        if (!cases[i].early)
            mailbox_append_send(&session.mailbox, base_now_ms());
        reply(&session, cases[i].said);
        assert_int_equal(finish(&session), cases[i].result);
        bool completed = !cases[i].closed || !cases[i].early || strstr(cases[i].said, "+ ") != NULL;
        assert_string_equal(arrived(&session), completed ? "o\r\n" : "");
        assert_int_equal(session.imap.stream == NULL, cases[i].closed);
        if (!cases[i].closed)
            assert_false(discards_unsent(&session));
        end_session(&session);
    }
}

static void test_what_is_only_announced(void **state)
{
    static const struct {
        const char *capabilities;
        size_t size;
        int64_t unused_ms;
        bool early;
    } cases[] = {
        {"LITERAL+", 5, 59000, true},       {"LITERAL+", 5, 60000, false},  {NULL, 5, 0, false},
        {"UIDPLUS", 5, 0, false},           {"LITERAL-", 4096, 0, true},    {"LITERAL-", 4097, 0, false},
        {"LITERAL- LITERAL+", MB, 0, true}, {"LITERAL+", MB + 1, 0, false}, {"LITERAL+", 0, 0, false},
        {"LITERAL", 5, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct session session;
        begin_session(&session, cases[i].capabilities);
        session.imap.heard_ms -= cases[i].unused_ms;
        begin(&session, big, cases[i].size, NULL);
        char *expected = base_printf(COMMAND "{%zu%s}\r\n", cases[i].size, cases[i].early ? "+" : "");
        const char *bytes = arrived(&session);
        assert_memory_equal(bytes, expected, strlen(expected));
        assert_int_equal(cases[i].early, strlen(bytes) > strlen(expected));
        assert_int_equal(cases[i].early, discards_unsent(&session));
        free(expected);
        end_session(&session);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_byte_is_withheld),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_connection_closed_before_the_last_byte),
        cmocka_unit_test(test_more_than_the_socket_takes),
        cmocka_unit_test(test_a_server_that_does_not_read),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_what_is_only_announced),
    };
    memset(big, 'x', sizeof(big));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
