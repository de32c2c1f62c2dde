/* SPDX-License-Identifier: ISC
 *
 * A connection's life, and waiting on its socket with a time limit. */
#include "ledger/pg.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "ledger/pg_internal.h"
#include "ledger/pg_peer.h"

bool pg_lose(struct pg *pg, struct fault *fault, const char *what)
{
    char *reason OD_CLEANUP(base_free) = pg_reason(PQerrorMessage(pg->conn));
    fault_set(fault, "database: %s%s%s", what, *reason ? ": " : "", reason);
    pg->lost = true;
    pg->sqlstate[0] = '\0';
    return false;
}

int pg_wait_socket(struct pg *pg, short events, int64_t until)
{
    for (;;) {
        int64_t left = until - base_now_ms();
        struct pollfd socket = {.fd = PQsocket(pg->conn), .events = events};
        int n = poll(&socket, 1, left > 0 ? (int)left : 0);
        if (n >= 0)
            return n;
        if (errno != EINTR)
            return -1;
    }
}

bool pg_count_received(struct pg *pg, struct fault *fault)
{
    int waiting = 0;
    (void)ioctl(PQsocket(pg->conn), FIONREAD, &waiting);
    pg->received += waiting > 0 ? waiting : 1;
    if (pg->received <= pg->receive_max)
        return true;
    fault_set(fault, "database: the answer is larger than %lld MiB", (long long)(pg->receive_max >> 20));
    pg->lost = true;
    pg->sqlstate[0] = '\0';
    return false;
}

bool pg_take_in(struct pg *pg, struct fault *fault)
{
    if (!pg_count_received(pg, fault))
        return false;
    if (!PQconsumeInput(pg->conn))
        return pg_lose(pg, fault, "connection lost");
    (void)PQisBusy(pg->conn);
    return true;
}

char *pg_conninfo_value(const char *conninfo, const char *keyword)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    char *value = NULL;
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0)
            value = base_strdup(option->val);
    PQconninfoFree(options);
    return value;
}

struct pg *pg_open(const char *conninfo, const char *application, const char *schema, bool verify, struct fault *fault)
{
    struct pg *pg = base_alloc(sizeof(*pg));
    pg->timeout_ms = PG_TIMEOUT_MS;
    pg->receive_max = PG_RECEIVE_MAX;
    pg->statements = pg_statements_new();
    pg->kinds = g_byte_array_new();
    if (!pg_connect(pg, conninfo, application, verify, fault)) {
        pg_close(&pg);
        return NULL;
    }
    char *quoted = PQescapeIdentifier(pg->conn, schema, strlen(schema));
    if (quoted == NULL || PQsetnonblocking(pg->conn, 1) != 0) {
        PQfreemem(quoted);
        pg_lose(pg, fault, "schema name");
        pg_close(&pg);
        return NULL;
    }
    pg->schema = base_strdup(quoted);
    PQfreemem(quoted);
    return pg;
}

const char *pg_secured(const struct pg *pg, bool *ret_good)
{
    return pg_peer_describe(pg->conn, ret_good);
}

void pg_close(struct pg **pg)
{
    if (*pg == NULL)
        return;
    if ((*pg)->conn != NULL)
        PQfinish((*pg)->conn);
    g_hash_table_destroy((*pg)->statements);
    g_byte_array_free((*pg)->kinds, TRUE);
    base_free(&(*pg)->schema);
    base_free(pg);
}

bool pg_usable(const struct pg *pg)
{
    return !pg->lost && PQstatus(pg->conn) == CONNECTION_OK;
}

bool pg_in_transaction(const struct pg *pg)
{
    return PQtransactionStatus(pg->conn) != PQTRANS_IDLE;
}

/* Reads to the end of the input: the end of the connection follows the server's last message. */
void pg_look(struct pg *pg)
{
    struct fault ignored;
    pg->received = 0;
    while (!pg->lost && pg_wait_socket(pg, POLLIN, base_now_ms()) != 0)
        pg->lost = !pg_take_in(pg, &ignored) || PQstatus(pg->conn) != CONNECTION_OK;
}

void pg_set_timeout(struct pg *pg, int64_t ms)
{
    pg->timeout_ms = ms;
}

void pg_server_process(struct pg *pg, int64_t pid)
{
    pg->direct = pid == PQbackendPID(pg->conn);
}

void pg_receive_any(struct pg *pg)
{
    pg->receive_max = INT64_MAX;
}

bool pg_script(struct pg *pg, const char *sql, struct fault *fault)
{
    bool done = true;
    pg->received = 0;
    if (!pg_usable(pg) || !PQsendQuery(pg->conn, sql))
        return pg_lose(pg, fault, "connection lost");
    if (!pg_flush(pg, fault))
        return false;
    for (;;) {
        if (!pg_wait_result(pg, fault))
            return false;
        PGresult *result OD_CLEANUP(pg_clear) = PQgetResult(pg->conn);
        if (result == NULL)
            return done;
        ExecStatusType status = PQresultStatus(result);
        if (done && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            done = pg_statement_failed(pg, result, fault);
    }
}

const char *pg_sqlstate(const struct pg *pg)
{
    return pg->sqlstate;
}
