/* SPDX-License-Identifier: ISC
 *
 * After a literal of which not all could be sent nothing may follow: the server would take it for the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "imap/imap.h"

#define MUCH ((size_t)4 << 20) /* more than an unread socket takes */

/* Reads all that is there now. */
static void drain(int fd)
{
    char bytes[65536];
    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
}

static void test_nothing_follows_a_cut_literal(void **state)
{
    int pair[2];
    char byte, *literal = calloc(1, MUCH);
    char peer_name[] = "server";
    struct imap imap = {.peer_name = peer_name, .step = "APPEND", .timeout = 20};
    struct error error;
    const struct iovec piece = {.iov_base = literal, .iov_len = MUCH};
    size_t sent = 0;
    (void)state;
    assert_non_null(literal);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    imap_stream_open(&imap, pair[0]);
    assert_true(imap_stream_line(&imap, "A1 NOOP", &error));
    assert_false(imap_stream_send(&imap, &piece, 1, &sent, MUCH, imap.timeout));
    drain(pair[1]); /* there is room again */
    assert_false(imap_stream_line(&imap, "A2 LOGOUT", &error));
    assert_true(recv(pair[1], &byte, 1, MSG_DONTWAIT) <= 0);
    imap_stream_drop(&imap);
    close(pair[1]);
    free(literal);
}

/* Pieces of any sizes, in parts that end anywhere: what arrives is all of it, in order. */
static void test_parts_of_pieces(void **state)
{
    static const size_t sizes[] = {3, 0, 8191, 1, 8192, 20000, 0, 2};
    static const size_t ends[] = {1, 3, 4, 8194, 8195, 16388, 36000, 36389};
    static char all[36389], arrived[sizeof(all)];
    struct iovec pieces[8];
    int pair[2];
    char peer_name[] = "server";
    struct imap imap = {.peer_name = peer_name, .step = "APPEND", .timeout = 20};
    size_t sent = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(all); i++)
        all[i] = (char)(i % 251);
    for (size_t i = 0, at = 0; i < 8; at += sizes[i++])
        pieces[i] = (struct iovec){all + at, sizes[i]};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    imap_stream_open(&imap, pair[0]);
    for (size_t i = 0; i < 8; i++) {
        assert_true(imap_stream_send(&imap, pieces, 8, &sent, ends[i], 0));
        assert_int_equal(sent, ends[i]);
    }
    assert_int_equal(recv(pair[1], arrived, sizeof(arrived), MSG_WAITALL), sizeof(arrived));
    assert_memory_equal(arrived, all, sizeof(all));
    imap_stream_drop(&imap);
    close(pair[1]);
}

/* Without waiting, a full socket cuts nothing: the rest follows when there is room. */
static void test_without_waiting(void **state)
{
    int pair[2];
    char *literal = calloc(1, MUCH), peer_name[] = "server";
    struct imap imap = {.peer_name = peer_name, .step = "APPEND", .timeout = 60000};
    const struct iovec piece = {.iov_base = literal, .iov_len = MUCH};
    size_t sent = 0, before;
    (void)state;
    assert_non_null(literal);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    imap_stream_open(&imap, pair[0]);
    int64_t began = base_now_ms();
    assert_false(imap_stream_send(&imap, &piece, 1, &sent, MUCH, 0));
    assert_true(base_now_ms() - began < 10000);
    assert_true(sent > 0 && sent < MUCH);
    before = sent;
    drain(pair[1]);
    assert_true(imap_stream_send(&imap, &piece, 1, &sent, before + 1, imap.timeout));
    assert_int_equal(sent, before + 1);
    imap_stream_drop(&imap);
    close(pair[1]);
    free(literal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_follows_a_cut_literal),
        cmocka_unit_test(test_parts_of_pieces),
        cmocka_unit_test(test_without_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
