/* SPDX-License-Identifier: ISC
 *
 * With src/ledger and its database. A second session, the warden's, ends sessions, makes rows older, and waits until
 * the server has done everything that was sent. */
#include "differential/ground.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "differential/warden.h"
#include "differential/wire.h"
#include "ledger/ledger_lock.h"
#include "message/message.h"
#include "postgres/pg_internal.h"

static enum lock_method method;
static PGconn *warden, *strangers[STRANGERS];
static bool stranger_waits[STRANGERS];
static struct ledger *ledgers[SESSIONS];
static int sessions[SESSIONS]; /* their last known server processes */
static bool waits[SESSIONS];

static void check(PGconn *conn, bool good)
{
    if (good)
        return;
    fprintf(stderr, "%s", PQerrorMessage(conn));
    exit(2);
}

/* Its name; it is prepared on first use. */
static const char *prepared(const char *sql)
{
    static struct {
        const char *sql;
        char name[16];
    } statements[16];
    size_t i = 0;
    while (statements[i].sql != NULL && statements[i].sql != sql)
        i++;
    if (statements[i].sql == NULL) {
        statements[i].sql = sql;
        snprintf(statements[i].name, sizeof(statements[i].name), "s%zu", i);
        PGresult *result OD_CLEANUP(pg_clear) = PQprepare(warden, statements[i].name, sql, 0, NULL);
        check(warden, PQresultStatus(result) == PGRES_COMMAND_OK);
    }
    return statements[i].name;
}

PGresult *warden_ask(const char *sql, int64_t number, const unsigned char *hash)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, number);
    const char *const values[] = {text, (const char *)hash};
    const int lengths[] = {0, LEDGER_HASH_SIZE}, formats[] = {0, 1};
    PGresult *result = PQexecPrepared(warden, prepared(sql), hash != NULL ? 2 : 1, values, lengths, formats, 0);
    check(warden, PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK);
    return result;
}

bool warden_whether(const char *sql, int64_t number)
{
    PGresult *result OD_CLEANUP(pg_clear) = warden_ask(sql, number, NULL);
    return PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
}

static void command(PGconn *conn, const char *sql)
{
    PGresult *result OD_CLEANUP(pg_clear) = PQexec(conn, sql);
    check(conn, PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK);
}

void warden_command(const char *sql)
{
    command(warden, sql);
}

static void drop_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

static PGconn *open_session(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);
    check(conn, PQstatus(conn) == CONNECTION_OK);
    PQsetNoticeReceiver(conn, drop_notice, NULL);
    return conn;
}

bool ground_open(const char *where, enum lock_method the_method)
{
    char agree[80];
    snprintf(agree, sizeof(agree), "UPDATE agreed SET lock_method = '%s'", lock_method_name(the_method));
    method = the_method;
    warden = open_session(where);
    for (size_t i = 0; i < STRANGERS; i++)
        strangers[i] = open_session(where);
    command(warden, "SET search_path = oncedrop");
    for (size_t i = 0; i < STRANGERS; i++)
        command(strangers[i], "SET search_path = oncedrop");
    command(warden, "TRUNCATE message CASCADE"); /* only empty tables give a history a single course */
    command(warden, agree);
    wire_open(method);
    return true;
}

void ground_close(void)
{
    PQfinish(warden);
    for (size_t i = 0; i < STRANGERS; i++)
        PQfinish(strangers[i]);
}

/* Waits for the end of the answer, since an error is reported before its transaction is rolled back: until
 * ReadyForQuery, or the end of the connection. */
static bool is_answered(PGconn *conn, int ms)
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

/* Waits until it has answered, or waits for a lock (true). */
bool warden_waits_for_lock(PGconn *conn)
{
    while (!is_answered(conn, 1))
        if (warden_whether("SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)", PQbackendPID(conn)))
            return true;
    return false;
}

/* Ends a session, if it still exists, and waits until its process and with it the connection are gone. (With a time
 * limit pg_terminate_backend waits for that itself, but checks only every 100 ms.) */
void warden_end_session(int pid)
{
    if (!warden_whether("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1", pid))
        return;
    (void)kill(pid, SIGCONT); /* it may be stopped (wire.c) */
    while (kill(pid, 0) == 0)
        (void)poll(NULL, 0, 1);
}

static int session_of(const struct ledger *ledger)
{
    const struct pg *pg = wire_connection(ledger->sql);
    return pg != NULL ? PQbackendPID(pg->conn) : 0;
}

void ground_begin(struct ledger *const the_ledgers[SESSIONS])
{
    warden_begin();
    for (size_t i = 0; i < SESSIONS; i++)
        ground_replace(i, the_ledgers[i]);
}

void ground_replace(size_t session, struct ledger *ledger)
{
    struct fault fault;
    ledgers[session] = ledger;
    check(warden, ledger_connect(ledger, &fault));
    sessions[session] = session_of(ledger);
}

void ground_work(void)
{
    for (size_t i = 0; i < STRANGERS; i++)
        stranger_waits[i] = stranger_waits[i] && warden_waits_for_lock(strangers[i]);
    for (size_t i = 0; i < SESSIONS; i++) {
        const struct pg *pg = wire_connection(ledgers[i]->sql);
        waits[i] = pg != NULL && pg->in_batch && pg_usable(pg) && warden_waits_for_lock(pg->conn);
        if (sessions[i] != session_of(ledgers[i]) && sessions[i] != wire_late())
            warden_end_session(sessions[i]);
        sessions[i] = session_of(ledgers[i]);
    }
}

bool ground_waits(size_t session)
{
    return waits[session];
}

void ground_kill(size_t session)
{
    int pid = session_of(ledgers[session]);
    if (pid != 0 && pid != wire_late())
        warden_end_session(pid);
    ground_work();
}

void ground_stranger_asks(size_t stranger, const struct ledger_message *message)
{
    char sql[80];
    bool row = method == LOCK_METHOD_ROW;
    snprintf(sql, sizeof(sql), "SELECT %s%" PRId64 "%s", row ? "FROM slot WHERE slot = " : "pg_advisory_xact_lock(",
             message_lock_key(message->identity), row ? " FOR UPDATE" : ")");
    command(strangers[stranger], "BEGIN");
    check(strangers[stranger], PQsendQuery(strangers[stranger], sql));
    stranger_waits[stranger] = warden_waits_for_lock(strangers[stranger]);
}

bool ground_stranger_waits(size_t stranger)
{
    return stranger_waits[stranger];
}

void ground_stranger_leaves(size_t stranger)
{
    PGconn *conn = strangers[stranger];
    if (stranger_waits[stranger]) {
        PGcancel *cancel = PQgetCancel(conn);
        char error[256];
        check(conn, PQcancel(cancel, error, sizeof(error)));
        PQfreeCancel(cancel);
    }
    for (PGresult *result; (result = PQgetResult(conn)) != NULL;)
        PQclear(result);
    command(conn, "ROLLBACK");
    stranger_waits[stranger] = false;
    ground_work();
}
