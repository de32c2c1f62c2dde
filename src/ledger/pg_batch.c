/* SPDX-License-Identifier: ISC
 *
 * A batch: statements that are sent together, and their results by mark. */
#include <stdlib.h>
#include <string.h>

#include "ledger/pg_internal.h"

#define FLUSH_BYTES (256 * 1024) /* libpq buffers without limit: after this much, wait for the server */

static bool enter_batch(struct pg *pg)
{
    if (!pg_usable(pg))
        return pg_lose(pg, &pg->fault, "connection lost");
    if (pg->in_batch)
        return true;
    if (!PQenterPipelineMode(pg->conn))
        return pg_lose(pg, &pg->fault, "connection busy");
    pg->in_batch = true;
    pg->received = 0;
    pg->added = pg->taken = pg->results = 0;
    g_ptr_array_set_size(pg->prepares, 0);
    pg->skipped = pg->alone = false;
    pg->sqlstate[0] = '\0';
    return true;
}

size_t pg_mark(const struct pg *pg)
{
    return pg->in_batch ? pg->added : 0;
}

static bool send_statement(struct pg *pg, const char *sql, size_t count, const char *const *values, const int *lengths,
                           const int *formats)
{
    const struct pg_statement *statement = pg_statement(pg, sql, count, &pg->fault);
    if (statement == NULL)
        return false;
    int sent = statement->name[0] != '\0'
                   ? PQsendQueryPrepared(pg->conn, statement->name, (int)count, values, lengths, formats, 0)
                   : PQsendQueryParams(pg->conn, statement->sql, (int)count, NULL, values, lengths, formats, 0);
    return sent ? true : pg_lose(pg, &pg->fault, "connection lost");
}

void pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params)
{
    const char *values[PG_MAX_PARAMS] = {NULL};
    char *fit[PG_MAX_PARAMS];
    int lengths[PG_MAX_PARAMS] = {0}, formats[PG_MAX_PARAMS] = {0};
    if (count > PG_MAX_PARAMS)
        abort();
    if (pg->failed || (pg->failed = !enter_batch(pg)))
        return;
    for (size_t i = 0; i < count; i++) {
        bool is_text = params[i].data != NULL && !params[i].binary;
        fit[i] = is_text ? pg_text_fit(params[i].data, params[i].max > 0 ? params[i].max : PG_TEXT_MAX) : NULL;
        values[i] = fit[i] != NULL ? fit[i] : params[i].data;
        lengths[i] = params[i].length;
        formats[i] = params[i].binary;
        if (values[i] != NULL)
            pg->unflushed += params[i].binary ? (size_t)params[i].length : strlen(values[i]);
    }
    bool sent = send_statement(pg, sql, count, values, lengths, formats);
    for (size_t i = 0; i < count; i++)
        base_free(&fit[i]);
    pg->added += sent;
    pg->failed = !sent || (pg->unflushed >= FLUSH_BYTES && !pg_flush(pg, &pg->fault));
}

bool pg_send(struct pg *pg, struct fault *fault)
{
    if (pg->failed) {
        *fault = pg->fault;
        return false;
    }
    if (!pg_usable(pg) || !PQpipelineSync(pg->conn))
        return pg_lose(pg, fault, "connection lost");
    return pg_flush(pg, fault);
}

/* The next result of the batch, of any kind. NULL with the fault set. */
static PGresult *next_result(struct pg *pg, struct fault *fault)
{
    PGresult *result = NULL;
    for (int i = 0; i < 2 && result == NULL; i++) { /* a NULL ends the results of the previous statement */
        if (!pg_wait_result(pg, fault))
            return NULL;
        result = PQgetResult(pg->conn);
    }
    if (result == NULL) {
        pg_lose(pg, fault, "connection lost");
        return NULL;
    }
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return result;
    pg->skipped = true;
    if (status == PGRES_PIPELINE_SYNC) /* too early: which answer belongs to what is not known */
        pg_lose(pg, fault, "answers are missing");
    else
        pg_statement_failed(pg, result, fault);
    PQclear(result);
    return NULL;
}

/* The result of the next statement; results of PREPAREs are skipped. */
static PGresult *take_next(struct pg *pg, struct fault *fault)
{
    PGresult *result = NULL;
    if (pg->skipped || pg->lost || !pg->in_batch)
        return NULL;
    for (bool again = true; again; pg->results++) {
        pg_clear(&result);
        result = next_result(pg, fault);
        again = result != NULL && pg_statement_confirm(pg, pg->results);
    }
    pg->taken++;
    return result;
}

bool pg_passed(struct pg *pg, size_t mark, struct fault *fault)
{
    while (pg->taken < mark) {
        PGresult *result OD_CLEANUP(pg_clear) = take_next(pg, fault);
        if (result == NULL)
            return false;
    }
    return true;
}

PGresult *pg_take(struct pg *pg, size_t mark, struct fault *fault)
{
    if (mark < pg->taken)
        abort(); /* already taken */
    return pg_passed(pg, mark, fault) ? take_next(pg, fault) : NULL;
}

bool pg_committed(struct pg *pg, size_t mark, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) = pg_take(pg, mark, fault);
    if (result == NULL)
        return false;
    if (strcmp(PQcmdStatus(result), "COMMIT") != 0)
        return fault_set(fault, "database: COMMIT answered %s", PQcmdStatus(result));
    if (pg->alone) {
        fault_set(fault, "database: a COMMIT was not confirmed by the synchronous standby");
        pg->lost = true; /* as if its answer had not arrived */
        pg->sqlstate[0] = '\0';
    }
    return !pg->alone;
}

/* We do not use them, but libpq keeps them until they are fetched. */
static void drop_notifications(struct pg *pg)
{
    for (PGnotify *notify; (notify = PQnotifies(pg->conn)) != NULL;)
        PQfreemem(notify);
}

bool pg_finish(struct pg *pg)
{
    struct fault ignored;
    while (pg->in_batch && !pg->lost) {
        if (!pg_wait_result(pg, &ignored))
            break;
        PGresult *result = PQgetResult(pg->conn);
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            pg->in_batch = false;
            pg->timeout_ms = PG_TIMEOUT_MS;
            pg->receive_max = PG_RECEIVE_MAX;
            pg->lost = !PQexitPipelineMode(pg->conn);
            pg_statements_settle(pg);
        } else if (result != NULL) {
            if (PQresultStatus(result) == PGRES_COMMAND_OK)
                pg_statement_confirm(pg, pg->results);
            pg->results++;
        }
        if (PQstatus(pg->conn) != CONNECTION_OK)
            pg->lost = true;
        PQclear(result);
    }
    drop_notifications(pg);
    return pg_usable(pg);
}
