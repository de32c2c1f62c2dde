/* SPDX-License-Identifier: ISC
 *
 * Values as parameters, and which hosts a connection may use. Seen to fail with: only one host checked. */
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

static void expect_param(struct sql_value value, const char *data)
{
    struct pg_param param = pg_param_of(&value);
    assert_int_equal(param.data != NULL, data != NULL);
    if (data != NULL)
        assert_string_equal(param.data, data);
    assert_int_equal(param.size, data != NULL ? strlen(data) : 0);
    base_free(&param.owned);
}

static void test_values(void **state)
{
    (void)state;
    expect_param(SQL_NULL, NULL);
    expect_param(SQL_TEXT(NULL), NULL);
    expect_param(SQL_TEXT("a\xff"), "a" BAD);
    expect_param(SQL_TEXT_CUT("abc", 2), "ab");
    expect_param(SQL_NUMBER(INT64_MIN), "-9223372036854775808");
    expect_param(SQL_BOOL(true), "t");
    expect_param(SQL_BOOL(false), "f");
    expect_param(SQL_BYTES("\1\2", 2), "\1\2");
}

static void test_array(void **state)
{
    static const char *const items[] = {"a", NULL, "", "\"\\,{}", "\xff\"", "NULL"};
    static const int64_t numbers[] = {0, -1, INT64_MAX};
    (void)state;
    expect_param(SQL_TEXTS(items, 6), "{\"a\",NULL,\"\",\"\\\"\\\\,{}\",\"" BAD "\\\"\",\"NULL\"}");
    expect_param(SQL_TEXTS(NULL, 0), "{}");
    expect_param(SQL_NUMBERS(numbers, 3), "{0,-1,9223372036854775807}");
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
        struct error error = {.text = ""};
        bool good = pg_peer_check_names(cases[i].hosts, cases[i].hostaddrs, cases[i].sslmode, &error);
        assert_int_equal(good, cases[i].refused == NULL);
        if (!good)
            assert_non_null(strstr(error.text, cases[i].refused));
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
        cmocka_unit_test(test_values),           cmocka_unit_test(test_array),   cmocka_unit_test(test_peer_named),
        cmocka_unit_test(test_peer_check_names), cmocka_unit_test(test_peer_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
