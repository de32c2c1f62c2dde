/* SPDX-License-Identifier: ISC
 *
 * PostgreSQL. A session's number is that of its server process. */
#include "differential/engine.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "postgres/pg.h"

/* A lock of the warden's. Its key consists of two numbers (objsubid 2). */
#define GATE "7426171, 0"

static int kept = -1; /* the connection of a session that is late */

static void engine_add(struct sql_session *session, const char *text)
{
    pg_add(session, text, 0, NULL);
}

static int64_t number_of(const struct sql_session *session)
{
    return PQbackendPID(session->conn);
}

/* Waits for the end of the answer, since an error is reported before its transaction is rolled back: until
 * ReadyForQuery, or the end of the connection. */
static bool is_replied(PGconn *conn, int ms)
{
    static const char ready[] = {'Z', 0, 0, 0, 5};
    char buffer[65536];
    struct pollfd socket = {.fd = PQsocket(conn), .events = POLLIN | POLLRDHUP};
    if (poll(&socket, 1, ms) == 0)
        return false;
    if (socket.revents & (POLLHUP | POLLRDHUP))
        return true;
    ssize_t n = recv(socket.fd, buffer, sizeof(buffer), MSG_PEEK | MSG_DONTWAIT);
    return n <= 0 ||
           (n > (ssize_t)sizeof(ready) && memcmp(&buffer[n - 1 - (ssize_t)sizeof(ready)], ready, sizeof(ready)) == 0);
}

/* A session that waits for one that does not go on by itself: the warden, a session that does nothing, or one that waits,
 * too. Autovacuum does not count: it locks a table while it truncates it. */
static const char waits_for_somebody[] =
    "SELECT pid FROM pg_stat_activity a WHERE pid = ANY (pg_blocking_pids($1::integer))"
    " AND backend_type = 'client backend' AND (pid = pg_backend_pid() OR state <> 'active'"
    " OR EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND NOT l.granted))";

/* Of a batch whose first results have been read, perhaps with the end of the answer. */
static bool is_done(const struct sql_session *session)
{
    return session->results > 0 &&
           warden_finds("SELECT pid FROM pg_stat_activity WHERE pid = $1 AND state LIKE 'idle%'", number_of(session));
}

/* Seen three times in a row: a session may wait for an instant, as for one that is about to end. */
static bool engine_waits(const struct sql_session *session)
{
    int seen = 0;
    while (session->in_batch && pg_usable(session) && !is_replied(session->conn, seen > 0 ? 20 : 1) &&
           !is_done(session)) {
        bool waits = warden_finds(waits_for_somebody, number_of(session));
        seen = waits ? seen + 1 : 0;
        if (seen == 3)
            return true;
    }
    return false;
}

/* With a time limit pg_terminate_backend waits for the end itself, but checks only every 100 ms. */
static void engine_end(int64_t number)
{
    if (warden_finds("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1", number))
        while (kill((pid_t)number, 0) == 0)
            (void)poll(NULL, 0, 1);
}

/* The server must not notice: it stops as soon as it cannot answer, which it does within a batch (pg_request_results). So
 * the connection stays, and what it says is never read; the session has another one. */
static void engine_deafen(struct sql_session *session)
{
    int pair[2], fd = PQsocket(session->conn);
    if (kill((pid_t)number_of(session), 0) == 0)
        kept = dup(fd);
    if (fd >= 0 && (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || dup2(pair[0], fd) < 0 || close(pair[0]) != 0 ||
                    close(pair[1]) != 0))
        abort();
}

static void engine_begin(void)
{
    (void)warden_finds("SELECT pg_advisory_lock(" GATE ") WHERE $1 = 0", 0);
}

/* No session waits for the hold after its COMMIT. */
static void late_comes(int64_t number)
{
    (void)warden_finds("SELECT pg_advisory_unlock(" GATE ") WHERE $1 = 0", 0);
    while (warden_finds("SELECT pid FROM pg_stat_activity WHERE pid = $1 AND state NOT LIKE 'idle%'", number) &&
           !warden_finds("SELECT pid FROM pg_locks WHERE pid = $1 AND NOT granted AND objsubid IS DISTINCT FROM 2",
                         number)) {
    }
    engine_end(number);
    base_close(&kept);
    engine_begin();
}

const struct fixture_engine fixture_engine = {
    .read_message = "SELECT id, extract(epoch FROM received_at)::bigint FROM @schema@.message WHERE digest = $1",
    .read_copies =
        "SELECT c.account, c.mailbox, c.role, c.state, c.doubt, c.error IS NOT NULL, c.generation, c.repeated,"
        " floor(extract(epoch FROM clock_timestamp() - c.claimed_at) / 3600)::bigint,"
        " floor(extract(epoch FROM clock_timestamp() - c.first_at) / 3600)::bigint, c.claim, d.recipient,"
        " c.uidvalidity, c.uid FROM @schema@.copy c JOIN @schema@.delivery d ON d.id = c.claimed_by WHERE c.message = $1",
    .age_copies =
        "UPDATE @schema@.copy SET claimed_at = claimed_at - $1 * interval '1 hour',"
        " first_at = first_at - $1 * interval '1 hour'",
    .age_leases = "UPDATE @schema@.lease SET expires_at = expires_at - $1 * interval '1 hour'",
    .add = engine_add,
    .fails = "SELECT 1 / 0",
    .gate = "SELECT set_config('lock_timeout', '0', true), pg_advisory_xact_lock_shared(" GATE ")",
    /* Who is next in a row's queue has the lock of the tuple until it has made the row its own; a new transaction that
     * asks meanwhile gets the row first. (The lock manager gives an advisory lock to who is next, at once.) */
    .let_pass = {[LOCK_METHOD_ROW] =
                     "DO 'BEGIN WHILE EXISTS (SELECT FROM pg_locks t WHERE t.locktype = ''tuple'' AND t.granted AND NOT"
                     " EXISTS (SELECT FROM pg_locks o WHERE o.pid = t.pid AND NOT o.granted)) LOOP"
                     " PERFORM pg_sleep(0.001); END LOOP; END'"},
    .begin = engine_begin,
    .late_comes = late_comes,
    .number_of = number_of,
    .waits = engine_waits,
    .end = engine_end,
    .deafen = engine_deafen,
};
