/* SPDX-License-Identifier: ISC
 *
 * LMTP's times, by a simulated clock: what a session waits for, and for how long, independent of this machine's load.
 *
 * Seen to fail: the idle time counted from DATA on; a transaction in progress refused at the session's end; no time
 * after that for its message; a command awaited beyond the session's end; a client sent away within a transaction, or
 * after one look at those who wait. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lmtp/lmtp.h"
#include "lmtp/lmtp_internal.h"

/* What the client sends, and when. */
struct piece {
    int64_t at_ms;
    const char *text;
};

/* The client, whose clock is used by everybody while waiting on its socket; each call of poll takes `tick` more. */
static struct {
    bool on;
    int64_t now, tick;
    int server, client;
    const struct piece *next; /* ends with one without text */
    int64_t delivery_ms;      /* pass at once when the database is asked */
} simulated;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (!simulated.on)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    simulated.now += simulated.tick;
    *ret = (struct timespec){.tv_sec = simulated.now / 1000, .tv_nsec = simulated.now % 1000 * 1000000};
    return 0;
}

static int real_poll(struct pollfd *fds, nfds_t count, int ms)
{
    struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    return (int)syscall(SYS_ppoll, fds, count, ms < 0 ? NULL : &limit, NULL, 0);
}

/* poll(2); glibc declares the array of that name as never read. */
int our_poll(struct pollfd *fds, nfds_t count, int ms) __asm__("poll");

int our_poll(struct pollfd *fds, nfds_t count, int ms)
{
    if (!simulated.on || fds[0].fd != simulated.server)
        return real_poll(fds, count, ms);
    int ready = real_poll(fds, count, 0);
    if (ready == 0 && fds[0].events == POLLOUT) {
        simulated.now += ms;
        return 0;
    }
    bool due = simulated.next->text != NULL && simulated.next->at_ms <= simulated.now + (ready == 0 ? ms : 0);
    if (fds[0].revents == 0 && due) {
        if (simulated.now < simulated.next->at_ms)
            simulated.now = simulated.next->at_ms;
        assert_true(write(simulated.client, simulated.next->text, strlen(simulated.next->text)) > 0);
        simulated.next++;
        ready = real_poll(fds, count, 0);
    } else if (ready == 0) {
        simulated.now += ms;
    }
    return ready;
}

/* connect(2), to the database: the delivery has begun. */
int our_connect(int fd, const struct sockaddr *address, socklen_t size) __asm__("connect");

int our_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    simulated.now += simulated.delivery_ms;
    simulated.delivery_ms = 0;
    return (int)syscall(SYS_connect, fd, address, size);
}

static void begin(const struct piece *pieces, int64_t tick)
{
    int sockets[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    simulated.server = sockets[0];
    simulated.client = sockets[1];
    simulated.next = pieces;
    simulated.now = 1000000;
    simulated.tick = tick;
    simulated.on = true;
}

static void end(void)
{
    simulated.on = false;
    close(simulated.server);
    close(simulated.client);
}

static void count_bytes(void *context, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)context += size;
}

/* The idle time is for each wait; a message may take longer while data arrives. */
static void test_idle(void **state)
{
    static const struct {
        int64_t idle, until;
        enum lmtp_read result;
        size_t size;
        int64_t ended;
    } cases[] = {
        {300, 100000, LMTP_READ_OK, 7, 900},      /* no two pieces are further apart */
        {220, 100000, LMTP_READ_TIMEOUT, 7, 870}, /* the last piece comes 250 ms after the previous one */
        {190, 100000, LMTP_READ_TIMEOUT, 1, 240},
        {300, 899, LMTP_READ_TIMEOUT, 7, 899}, /* 899 ms is the end of all waits, even if more arrives */
        {300, 900, LMTP_READ_OK, 7, 900},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct piece pieces[] = {{1000050, "a"},     {1000250, "b\r"},  {1000450, "\nc"},
                                       {1000650, "\r\n."}, {1000900, "\r\n"}, {0, NULL}};
        size_t size = 0;
        begin(pieces, 0);
        struct lmtp_stream *stream = lmtp_stream_new(simulated.server, simulated.server, INT64_MAX);
        enum lmtp_read result = lmtp_stream_data(stream, cases[i].idle, 1000000 + cases[i].until, count_bytes, &size);
        int64_t ended = simulated.now - 1000000;
        lmtp_stream_free(&stream);
        end();
        assert_int_equal(result, cases[i].result);
        assert_int_equal(ended, cases[i].ended);
        assert_int_equal(size, cases[i].size);
    }
}

/* Serves a client that sends `pieces`; there is no database. Stores the replies up to the session's end. */
static void converse_on(const struct piece *pieces, const struct lmtp_terms *terms, int64_t tick, char *replies,
                        size_t size)
{
    struct config *config = config_defaults();
    size_t length = 0;
    base_free(&config->database.conninfo);
    config->database.conninfo = base_strdup("host=/nonexistent");
    begin(pieces, tick);
    struct lmtp_cache kept = lmtp_cache_new(config);
    lmtp_serve(config, simulated.server, simulated.server, terms, &kept);
    lmtp_cache_clear(&kept);
    simulated.on = false;
    close(simulated.server);
    for (ssize_t n; (n = read(simulated.client, replies + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    replies[length] = '\0';
    close(simulated.client);
    config_free(&config);
}

static void converse(const struct piece *pieces, struct lmtp_times times, int64_t tick, char *replies, size_t size)
{
    struct lmtp_terms terms = LMTP_ALONE;
    terms.times = times;
    converse_on(pieces, &terms, tick, replies, size);
}

#define ENVELOPE "MAIL FROM:<>\r\nRCPT TO:<a@x>\r\nDATA\r\n"
#define BEGUN "250 2.1.0 "
#define TAKEN "451 4.3.0 database: " /* the message was read to its end; only then is this sent */

/* A transaction that begins before the session's end is completed, at whichever command the end falls. */
static void test_the_end_within_a_transaction(void **state)
{
    static const struct piece at_once[] = {{1000000, "LHLO x\r\n" ENVELOPE "a: b\r\n\r\nc\r\n.\r\n"}, {0, NULL}};
    size_t refused = 0, taken = 0;
    (void)state;
    for (int64_t session = 0; session < 60; session++) {
        const struct lmtp_times times = {.session = session, .last_data = 60000, .idle = 60000};
        char replies[2048];
        converse(at_once, times, 1, replies, sizeof(replies));
        bool begun = strstr(replies, BEGUN) != NULL;
        assert_int_equal(strstr(replies, TAKEN) != NULL, begun);
        refused += !begun;
        taken += begun;
        assert_non_null(strstr(replies, "\r\n421 4."));
    }
    assert_true(refused > 0 && taken > 0);
}

/* The message may still arrive for a while after the end; the next one needs another session. */
static void test_the_end_within_a_message(void **state)
{
    static const struct {
        int64_t last_data;
        bool taken;
    } cases[] = {{2001, true}, {1999, false}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static const struct piece pieces[] = {
            {1000000, "LHLO x\r\n"}, {1000900, ENVELOPE}, {1002000, "a: b\r\n\r\nc\r\n"},
            {1003000, ".\r\n"},      {1003000, ENVELOPE}, {0, NULL}};
        const struct lmtp_times times = {.session = 1000, .last_data = cases[i].last_data, .idle = 1500};
        char replies[2048];
        converse(pieces, times, 0, replies, sizeof(replies));
        const char *begun = strstr(replies, BEGUN);
        assert_non_null(begun);
        assert_null(strstr(begun + 1, BEGUN));
        assert_int_equal(strstr(replies, TAKEN) != NULL, cases[i].taken);
        assert_non_null(strstr(replies, cases[i].taken ? "\r\n421 4.3.2 " : "\r\n421 4.4.2 "));
    }
}

/* The wait for a command is limited by the idle time and by the session's end. */
static void test_waits_for_commands(void **state)
{
    static const struct {
        int64_t session, idle, ended;
    } cases[] = {{5000, 1000, 1700}, {1200, 1000, 1200}};
    static const struct piece pieces[] = {{1000000, "LHLO x\r\n"}, {1000700, "NOOP\r\n"}, {0, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct lmtp_times times = {.session = cases[i].session, .last_data = 60000, .idle = cases[i].idle};
        char replies[2048];
        converse(pieces, times, 0, replies, sizeof(replies));
        assert_int_equal(simulated.now - 1000000, cases[i].ended);
        assert_non_null(strstr(replies, "\r\n421 4.4.2 "));
    }
}

/* A delivery may take longer than the rest of the session: it still gets its reply. Seen to fail with nothing written
 * after the session's end. */
static void test_a_delivery_that_outlasts_the_session(void **state)
{
    static const struct piece pieces[] = {{1000000, "LHLO x\r\n" ENVELOPE "a: b\r\n\r\nc\r\n"},
                                          {1000900, ".\r\n"},
                                          {0, NULL}};
    const struct lmtp_times times = {.session = 1000, .last_data = 0, .idle = 1000};
    char replies[2048];
    (void)state;
    simulated.delivery_ms = 70000;
    converse(pieces, times, 0, replies, sizeof(replies));
    assert_int_equal(simulated.delivery_ms, 0);
    assert_non_null(strstr(replies, TAKEN));
}

/* The looks at which all are busy, as bits from the first one on. */
static bool busy_by_bits(const void *context)
{
    unsigned *looks = (unsigned *)(uintptr_t)context; /* ours, not modified by others */
    bool busy = *looks & 1;
    *looks >>= 1;
    return busy;
}

#define MESSAGE "a: b\r\n\r\nc\r\n.\r\n"
#define ALWAYS UINT32_MAX

/* Others wait from the beginning. A client that is idle between two transactions is closed after a moment in which all are busy;
 * within a transaction, and while one is free, only the idle time counts. */
static void test_others_wait(void **state)
{
    static const struct {
        const char *first, *second; /* at once, and 50 ms later */
        unsigned busy;
        int64_t ended;
        const char *reply;
    } cases[] = {
        {"LHLO x\r\n" ENVELOPE MESSAGE, NULL, ALWAYS, 100, "421 4.3.2 others"},
        {"LHLO x\r\n" ENVELOPE MESSAGE, NULL, 0x001, 1000, "421 4.4.2"}, /* at the second look one is free */
        {"LHLO x\r\n" ENVELOPE MESSAGE, NULL, 0x3fe, 1000, "421 4.4.2"}, /* at the first, and at the last */
        {"LHLO x\r\n" ENVELOPE MESSAGE, NULL, 0xffc, 1000, "421 4.4.2"},
        {"LHLO x\r\n" ENVELOPE MESSAGE, NULL, 0x1ffc, 120, "421 4.3.2 others"},
        {"LHLO x\r\n" ENVELOPE MESSAGE, "RSET\r\n", ALWAYS, 50, "421 4.3.2 others"},
        {"LHLO x\r\n" ENVELOPE MESSAGE, "RSET\r\n", 0x01, 1050, "421 4.4.2"},
        {"LHLO x\r\n" ENVELOPE MESSAGE, ENVELOPE, ALWAYS, 1050, "421 4.4.2"},
        {"LHLO x\r\nMAIL FROM:<>\r\n", NULL, ALWAYS, 1000, "421 4.4.2"},
        {"LHLO x\r\n" ENVELOPE MESSAGE ENVELOPE MESSAGE, NULL, ALWAYS, 100, "421 4.3.2 others"},
        {"LHLO x\r\n", NULL, ALWAYS, 2000, "421 4.3.2 others"},
        {"", NULL, ALWAYS, 2000, "421 4.3.2 others"},
    };
    int others[2];
    (void)state;
    assert_int_equal(pipe(others), 0);
    assert_int_equal(write(others[1], "", 1), 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct piece pieces[] = {{1000000, cases[i].first}, {1000050, cases[i].second}, {0, NULL}};
        unsigned looks = cases[i].busy;
        struct lmtp_terms terms = LMTP_ALONE;
        terms.times = (struct lmtp_times){.session = 60000, .last_data = 60000, .idle = 1000};
        if (cases[i].ended > 1050)
            terms.times.idle = 3000;
        terms.others_fd = others[0];
        terms.all_busy = busy_by_bits;
        terms.context = &looks;
        char replies[2048];
        converse_on(cases[i].first[0] == '\0' ? pieces + 2 : pieces, &terms, 0, replies, sizeof(replies));
        assert_int_equal(simulated.now - 1000000, cases[i].ended);
        assert_non_null(strstr(replies, cases[i].reply));
    }
    close(others[0]);
    close(others[1]);
}

/* A client that sends and never reads is left at the end of the session, however long a write may take. Seen to fail
 * without that limit. */
static void test_a_client_that_never_reads(void **state)
{
    static char commands[400 * 6 + 1];
    struct piece pieces[65];
    struct config *config OD_CLEANUP(config_free) = config_defaults();
    struct lmtp_terms terms = LMTP_ALONE;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof(commands); i++)
        commands[i] = "NOOP\r\n"[i % 6];
    for (size_t i = 0; i < 64; i++)
        pieces[i] = (struct piece){1000000, commands};
    pieces[64] = (struct piece){0, NULL};
    begin(pieces, 0);
    assert_int_equal(fcntl(simulated.server, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(setsockopt(simulated.server, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
    terms.times = (struct lmtp_times){.session = 60000, .last_data = 0, .idle = 20000};
    struct lmtp_cache kept = lmtp_cache_new(config);
    lmtp_serve(config, simulated.server, simulated.server, &terms, &kept);
    lmtp_cache_clear(&kept);
    assert_int_equal(simulated.now, 1060000);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_the_end_within_a_transaction),
        cmocka_unit_test(test_the_end_within_a_message),
        cmocka_unit_test(test_waits_for_commands),
        cmocka_unit_test(test_a_delivery_that_outlasts_the_session),
        cmocka_unit_test(test_others_wait),
        cmocka_unit_test(test_a_client_that_never_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
