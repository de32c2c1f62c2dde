/* SPDX-License-Identifier: ISC
 *
 * A connection's life, and scripts. */
#include <string.h>

#include "ledger/pg_internal.h"
#include "ledger/pg_peer.h"

struct pg *pg_open(const char *conninfo, const char *application, const char *schema, bool verify, struct fault *fault)
{
    struct pg *pg = base_alloc(sizeof(*pg));
    pg->timeout_ms = PG_TIMEOUT_MS;
    pg->receive_max = PG_RECEIVE_MAX;
    pg_statements_begin(pg);
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
    g_ptr_array_unref((*pg)->prepares);
    base_free(&(*pg)->schema);
    base_free(pg);
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
