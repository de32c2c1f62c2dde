/* SPDX-License-Identifier: ISC
 *
 * Text for the database becomes valid UTF-8 of limited size. Seen to fail with: a cut within a character; a cut only
 * before it is made valid. And which hosts a connection may use. Seen to fail with: only one host checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "postgres/pg.h"

#define BAD "\xef\xbf\xbd"

static void test_text_fit(void **state)
{
    static const struct {
        const char *text;
        size_t max;
        const char *fit; /* NULL: unchanged */
    } cases[] = {
        {"", 0, NULL},
        {"abc", 3, NULL},
        {"gr\xc3\xbc\xc3\x9f", 6, NULL},
        {"abc", 2, "ab"},
        {"abc", 0, ""},
        {"gr\xc3\xbc\xc3\x9f", 5, "gr\xc3\xbc"},
        {"gr\xc3\xbc", 3, "gr"},
        {"\xf0\x9f\x90\x9f", 3, ""},
        {"\xff@x", 9, BAD "@x"},
        {"\xff@x", 4, BAD "@"},
        {"\xff@x", 2, ""},
        {"a\xff\xff\xff\xff\xff", 6, "a" BAD},
        {"\x80\x80\x80\x80", 3, ""},
        {"\xed\xa0\x80", 99, BAD BAD BAD},
        {"a\xe2\x82", 99, "a" BAD BAD},
        {"\xf4\x90\x80\x80", 12, BAD BAD BAD BAD},
        {"\xc0\x80", 99, BAD BAD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *fit OD_CLEANUP(base_free) = pg_text_fit(cases[i].text, cases[i].max);
        assert_int_equal(fit != NULL, cases[i].fit != NULL);
        if (fit != NULL)
            assert_string_equal(fit, cases[i].fit);
    }
}

/* Every cut of every string made of some bytes of each kind. */
static void test_text_fit_always(void **state)
{
    static const char bytes[] = {'a', '"', (char)0xc3, (char)0xbc, (char)0xe2, (char)0x82, (char)0xf0, (char)0xff};
    (void)state;
    for (unsigned long number = 0; number < 8 * 8 * 8 * 8 * 8; number++) {
        char text[6] = "";
        for (size_t i = 0; i < 5; i++)
            text[i] = bytes[number >> (3 * i) & 7];
        for (size_t max = 0; max < 17; max++) {
            char *fit OD_CLEANUP(base_free) = pg_text_fit(text, max);
            const char *sent = fit != NULL ? fit : text;
            assert_true(g_utf8_validate(sent, -1, NULL));
            assert_true(strlen(sent) <= max);
        }
    }
}

static void test_array(void **state)
{
    static const char *const items[] = {"a", NULL, "", "\"\\,{}", "\xff\"", "NULL"};
    char *array OD_CLEANUP(base_free) = pg_text_array(items, sizeof(items) / sizeof(items[0]));
    char *none OD_CLEANUP(base_free) = pg_text_array(NULL, 0);
    (void)state;
    assert_string_equal(array, "{\"a\",NULL,\"\",\"\\\"\\\\,{}\",\"" BAD "\\\"\",\"NULL\"}");
    assert_string_equal(none, "{}");
}

static void test_peer_named(void **state)
{
    static const struct {
        const char *host, *hostaddr;
        enum pg_peer peer;
    } cases[] = {
        {NULL, NULL, PG_PEER_SOCKET},
        {"", "", PG_PEER_SOCKET},
        {"/run/postgresql", NULL, PG_PEER_SOCKET},
        {"@abstract", NULL, PG_PEER_SOCKET},
        {"localhost", "", PG_PEER_LOOPBACK},
        {"LocalHost", NULL, PG_PEER_LOOPBACK},
        {"127.0.0.1", NULL, PG_PEER_LOOPBACK},
        {"127.255.0.9", NULL, PG_PEER_LOOPBACK},
        {"::1", NULL, PG_PEER_LOOPBACK},
        {"::ffff:127.0.0.1", NULL, PG_PEER_LOOPBACK},
        {"db", "127.0.0.1", PG_PEER_LOOPBACK},
        {"128.0.0.1", NULL, PG_PEER_REMOTE},
        {"0.0.0.0", NULL, PG_PEER_REMOTE},
        {"::2", NULL, PG_PEER_REMOTE},
        {"::ffff:10.0.0.1", NULL, PG_PEER_REMOTE},
        {"localhost", "10.0.0.1", PG_PEER_REMOTE},
        {"/run/postgresql", "10.0.0.1", PG_PEER_REMOTE},
        {"127.0.0.1.example.org", NULL, PG_PEER_REMOTE},
        {"localhost.example.org", NULL, PG_PEER_REMOTE},
        {"127.1", NULL, PG_PEER_REMOTE},
        {" ", NULL, PG_PEER_REMOTE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(pg_peer_named(cases[i].host, cases[i].hostaddr), cases[i].peer);
}

static void test_peer_check_names(void **state)
{
    static const struct {
        const char *hosts, *hostaddrs, *sslmode, *refused; /* NULL: none */
    } cases[] = {
        {NULL, NULL, NULL, NULL},
        {"localhost,::1,/run", NULL, "disable", NULL},
        {"a,b", NULL, "verify-full", NULL},
        {"db", NULL, NULL, "host db "},
        {"db", NULL, "verify-ca", "verify-ca"},
        {"db", NULL, "VERIFY-FULL", "host db "},
        {"localhost,db", NULL, "require", "host db "},
        {"localhost,,db", NULL, "require", "host db "},
        {"a,b", "127.0.0.1,10.0.0.1", "require", "10.0.0.1"},
        {"a,b", "127.0.0.1,", "require", "host b "},
        {NULL, "127.0.0.1,10.0.0.1", "require", "10.0.0.1"},
        {NULL, "::1", "prefer", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fault fault = {.text = ""};
        bool good = pg_peer_check_names(cases[i].hosts, cases[i].hostaddrs, cases[i].sslmode, &fault);
        assert_int_equal(good, cases[i].refused == NULL);
        if (!good)
            assert_non_null(strstr(fault.text, cases[i].refused));
    }
}

/* Datagram sockets are connected without sending a packet. */
static enum pg_peer connected_to(const char *address, bool *ret)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    int fd OD_CLEANUP(base_close) = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    *ret = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0; /* fails without a route */
    return pg_peer_of(fd);
}

static void test_peer_of(void **state)
{
    int pair[2];
    bool connected;
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(pg_peer_of(pair[0]), PG_PEER_SOCKET);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(pg_peer_of(-1), PG_PEER_SOCKET);
    assert_int_equal(connected_to("127.0.0.2", &connected), PG_PEER_LOOPBACK);
    assert_true(connected);
    enum pg_peer far = connected_to("198.51.100.1", &connected);
    assert_int_equal(far, connected ? PG_PEER_REMOTE : PG_PEER_SOCKET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_fit),   cmocka_unit_test(test_text_fit_always),  cmocka_unit_test(test_array),
        cmocka_unit_test(test_peer_named), cmocka_unit_test(test_peer_check_names), cmocka_unit_test(test_peer_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
