/* SPDX-License-Identifier: ISC
 *
 * The connection's socket, and errors. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "postgres/pg.h"

bool pg_lose(struct sql_session *pg, struct error *error, const char *what)
{
    char *reason OD_CLEANUP(base_free) = pg_reason(PQerrorMessage(pg->conn));
    error_set(error, "database: %s%s%s", what, *reason ? ": " : "", reason);
    pg->lost = true;
    return false;
}

int pg_wait_socket(struct sql_session *pg, short events, int64_t until)
{
    return base_poll(&(struct pollfd){.fd = PQsocket(pg->conn), .events = events}, 1, until);
}

bool pg_count_received(struct sql_session *pg, struct error *error)
{
    int waiting = 0;
    (void)ioctl(PQsocket(pg->conn), FIONREAD, &waiting);
    pg->received += waiting > 0 ? waiting : 1;
    if (pg->received <= pg->receive_max)
        return true;
    error_set(error, SQL_TOO_LARGE, (long long)(pg->receive_max >> 20));
    pg->lost = true;
    return false;
}

/* Lets libpq parse its input before it piles up. */
static bool take_in(struct sql_session *pg, struct error *error)
{
    if (!pg_count_received(pg, error))
        return false;
    if (!PQconsumeInput(pg->conn))
        return pg_lose(pg, error, SQL_LOST);
    (void)PQisBusy(pg->conn);
    return true;
}

bool pg_flush(struct sql_session *pg, struct error *error)
{
    int64_t until = base_now_ms() + pg->timeout_ms;
    for (int left; (left = PQflush(pg->conn)) != 0;) {
        if (left < 0)
            return pg_lose(pg, error, SQL_LOST);
        int ready = pg_wait_socket(pg, POLLIN | POLLOUT, until);
        if (ready <= 0)
            return pg_lose(pg, error, SQL_TIMED_OUT);
        if (!take_in(pg, error))
            return false;
    }
    pg->unflushed = 0;
    return true;
}

bool pg_wait_result(struct sql_session *pg, struct error *error)
{
    int64_t until = base_now_ms() + pg->timeout_ms;
    while (PQisBusy(pg->conn)) {
        int ready = pg_wait_socket(pg, POLLIN, until);
        if (ready <= 0)
            return pg_lose(pg, error, SQL_TIMED_OUT);
        if (!take_in(pg, error))
            return false;
    }
    return true;
}

/* After these errors the next transaction reconnects. */
static bool is_stale(const char *sqlstate)
{
    static const char *const states[] = {
        "25006", /* read_only_sql_transaction: another server may have this name or address now */
        "0A000", /* feature_not_supported: BEGIN READ WRITE on a standby; or an upgrade changed a cached plan */
        "26000", /* invalid_sql_statement_name: there is a pooler */
        "42P05", /* duplicate_prepared_statement: there is a pooler */
        NULL,
    };
    return g_strv_contains(states, sqlstate);
}

bool pg_statement_failed(struct sql_session *pg, const PGresult *result, struct error *error)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (PQstatus(pg->conn) == CONNECTION_BAD)
        return pg_lose(pg, error, SQL_LOST);
    error_set(error, "database: %s (SQLSTATE %s)", message != NULL ? message : PQresultErrorMessage(result),
              sqlstate != NULL ? sqlstate : "unknown");
    snprintf(error->code, sizeof(error->code), "%.5s", sqlstate != NULL ? sqlstate : "");
    pg->lost = pg->lost || is_stale(error->code);
    return false;
}

bool pg_usable(const struct sql_session *pg)
{
    return !pg->lost && PQstatus(pg->conn) == CONNECTION_OK;
}

bool pg_in_transaction(const struct sql_session *pg)
{
    return PQtransactionStatus(pg->conn) != PQTRANS_IDLE;
}

/* Reads all input: the connection's end follows the last message. */
void pg_check_connection(struct sql_session *pg)
{
    struct error ignored;
    pg->received = 0;
    while (!pg->lost && pg_wait_socket(pg, POLLIN, base_now_ms()) != 0)
        pg->lost = !take_in(pg, &ignored) || PQstatus(pg->conn) != CONNECTION_OK;
}

void pg_set_timeout(struct sql_session *pg, int64_t ms)
{
    pg->timeout_ms = ms;
}

void pg_unlimit_result(struct sql_session *pg)
{
    pg->receive_max = INT64_MAX;
}

bool pg_script(struct sql_session *pg, const char *sql, struct error *error)
{
    bool done = true;
    pg->received = 0;
    if (!pg_usable(pg) || !PQsendQuery(pg->conn, sql))
        return pg_lose(pg, error, SQL_LOST);
    if (!pg_flush(pg, error))
        return false;
    for (;;) {
        if (!pg_wait_result(pg, error))
            return false;
        PGresult *result OD_CLEANUP(pg_clear) = PQgetResult(pg->conn);
        if (result == NULL)
            return done;
        ExecStatusType status = PQresultStatus(result);
        if (done && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            done = pg_statement_failed(pg, result, error);
    }
}

void pg_clear(PGresult **result)
{
    PQclear(*result);
    *result = NULL;
}
