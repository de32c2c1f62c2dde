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
    (void)state;
    assert_non_null(literal);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    imap_stream_open(&imap, pair[0]);
    assert_true(imap_stream_line(&imap, "A1 NOOP", &error));
    assert_false(imap_stream_write(&imap, &piece, 1));
    drain(pair[1]); /* there is room again */
    assert_false(imap_stream_line(&imap, "A2 LOGOUT", &error));
    assert_true(recv(pair[1], &byte, 1, MSG_DONTWAIT) <= 0);
    imap_stream_drop(&imap);
    close(pair[1]);
    free(literal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_follows_a_cut_literal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
