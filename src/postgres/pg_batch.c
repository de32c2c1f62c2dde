/* SPDX-License-Identifier: ISC
 *
 * A batch: statements sent together, and their results by mark.
 *
 * A statement sent repeatedly is prepared, so that the server plans it once. Not behind a pooler: the next
 * transaction may be in another session, which does not know the name, or knows another statement by it. PgBouncer
 * since 1.21 handles that, but a second pooler behind it cannot be detected. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/pg.h"

#define FLUSH_BYTES (256 * 1024) /* then flush: libpq buffers without limit */

/* A statement as sent. */
struct statement {
    char *sql;     /* with the schema's name */
    char name[24]; /* "": not prepared */
    bool used;     /* sent before */
    bool stands;   /* PREPARE succeeded */
};

static void statement_free(gpointer statement)
{
    struct statement *it = statement;
    base_free(&it->sql);
    base_free(&it);
}

void pg_statements_begin(struct sql_session *pg)
{
    pg->statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, statement_free);
    pg->prepares = g_ptr_array_new();
}

/* Uses a new name: PREPARE's success is known only when its result arrives. */
static bool prepare_statement(struct sql_session *pg, struct statement *statement, size_t count, struct error *error)
{
    snprintf(statement->name, sizeof(statement->name), "oncedrop_%u", pg->prepared++);
    if (!PQsendPrepare(pg->conn, statement->name, statement->sql, (int)count, NULL))
        return pg_lose(pg, error, SQL_LOST);
    g_ptr_array_add(pg->prepares, statement);
    pg->unflushed += strlen(statement->sql);
    return true;
}

static struct statement *find_statement(struct sql_session *pg, const char *sql)
{
    struct statement *statement = g_hash_table_lookup(pg->statements, sql);
    if (statement != NULL)
        return statement;
    GString *text = g_string_new(sql);
    g_string_replace(text, "@schema@", pg->schema, 0);
    statement = base_alloc(sizeof(*statement));
    statement->sql = g_string_free(text, FALSE);
    g_hash_table_insert(pg->statements, g_strdup(sql), statement);
    return statement;
}

/* Adds a PREPARE when a text is sent for the second time. */
static const struct statement *statement_for(struct sql_session *pg, const char *sql, size_t count, struct error *error)
{
    struct statement *statement = find_statement(pg, sql);
    bool again = statement->used && count > 0 && pg->direct && statement->name[0] == '\0';
    statement->used = true;
    if (again && !prepare_statement(pg, statement, count, error))
        return NULL;
    g_ptr_array_add(pg->prepares, NULL);
    return statement;
}

/* Called for each successful result. Returns whether it is a PREPARE's. */
static bool confirm_prepared(struct sql_session *pg, size_t result)
{
    /* a server could send too many */
    struct statement *prepared = result < pg->prepares->len ? g_ptr_array_index(pg->prepares, result) : NULL;
    if (prepared != NULL)
        prepared->stands = true;
    return prepared != NULL;
}

/* An unconfirmed PREPARE has failed. */
static void settle_prepared(struct sql_session *pg)
{
    for (guint i = 0; i < pg->prepares->len; i++) {
        struct statement *prepared = g_ptr_array_index(pg->prepares, i);
        if (prepared != NULL && !prepared->stands)
            prepared->name[0] = '\0';
    }
}

static bool enter_batch(struct sql_session *pg)
{
    if (!pg_usable(pg))
        return pg_lose(pg, &pg->error, SQL_LOST);
    if (pg->in_batch)
        return true;
    if (!PQenterPipelineMode(pg->conn))
        return pg_lose(pg, &pg->error, SQL_LOST);
    pg->in_batch = true;
    pg->received = 0;
    pg->results = 0;
    pg->settings = SIZE_MAX;
    g_ptr_array_set_size(pg->prepares, 0);
    pg->alone = false;
    return true;
}

static bool send_statement(struct sql_session *pg, const char *sql, size_t count, const struct pg_param *params)
{
    const char *data[SQL_VALUES_MAX] = {NULL};
    int sizes[SQL_VALUES_MAX] = {0}, binary[SQL_VALUES_MAX] = {0};
    const struct statement *statement = statement_for(pg, sql, count, &pg->error);
    if (statement == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        data[i] = params[i].data;
        sizes[i] = (int)params[i].size;
        binary[i] = params[i].binary;
        pg->unflushed += params[i].size;
    }
    int sent = statement->name[0] != '\0'
                   ? PQsendQueryPrepared(pg->conn, statement->name, (int)count, data, sizes, binary, 0)
                   : PQsendQueryParams(pg->conn, statement->sql, (int)count, NULL, data, sizes, binary, 0);
    return sent ? true : pg_lose(pg, &pg->error, SQL_LOST);
}

void pg_add(struct sql_session *pg, const char *sql, size_t count, const struct sql_value *values)
{
    struct pg_param params[SQL_VALUES_MAX];
    if (pg->failed || (pg->failed = !enter_batch(pg)))
        return;
    for (size_t i = 0; i < count; i++)
        params[i] = pg_param_of(&values[i]);
    bool sent = send_statement(pg, sql, count, params);
    for (size_t i = 0; i < count; i++)
        base_free(&params[i].owned);
    pg->failed = !sent || (pg->unflushed >= FLUSH_BYTES && !pg_flush(pg, &pg->error));
}

void pg_detect_pooler(struct sql_session *pg)
{
    if (!pg->failed)
        pg->settings = pg->prepares->len - 1;
}

void pg_request_results(struct sql_session *pg)
{
    if (!pg->failed && !PQsendFlushRequest(pg->conn))
        pg->failed = !pg_lose(pg, &pg->error, SQL_LOST);
}

bool pg_send(struct sql_session *pg, struct error *error)
{
    if (pg->failed) {
        *error = pg->error;
        return false;
    }
    if (!pg_usable(pg) || !PQpipelineSync(pg->conn))
        return pg_lose(pg, error, SQL_LOST);
    return pg_flush(pg, error);
}

static PGresult *next_result(struct sql_session *pg, struct error *error)
{
    PGresult *result = NULL;
    for (int i = 0; i < 2 && result == NULL; i++) { /* a NULL ends the results of the previous statement */
        if (!pg_wait_result(pg, error))
            return NULL;
        result = PQgetResult(pg->conn);
    }
    if (result == NULL) {
        pg_lose(pg, error, SQL_LOST);
        return NULL;
    }
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return result;
    if (status == PGRES_PIPELINE_SYNC) /* too early: results match no statements */
        pg_lose(pg, error, "results are missing");
    else
        pg_statement_failed(pg, result, error);
    PQclear(result);
    return NULL;
}

/* Skips results of PREPAREs. */
struct sql_rows *pg_next(struct sql_session *pg, struct error *error)
{
    PGresult *result OD_CLEANUP(pg_clear) = NULL;
    size_t at;
    if (pg->lost || !pg->in_batch)
        return NULL;
    do {
        pg_clear(&result);
        result = next_result(pg, error);
        at = pg->results++;
    } while (result != NULL && confirm_prepared(pg, at));
    if (result == NULL)
        return NULL;
    if (at == pg->settings && PQntuples(result) == 1 && PQnfields(result) > 0)
        pg->direct = atoi(PQgetvalue(result, 0, PQnfields(result) - 1)) == PQbackendPID(pg->conn);
    g_strlcpy(pg->tag, PQcmdStatus(result), sizeof(pg->tag));
    return pg_rows(result);
}

bool pg_committed(struct sql_session *pg, struct error *error)
{
    if (strcmp(pg->tag, "COMMIT") != 0)
        return error_set(error, "database: COMMIT answered %s", pg->tag);
    if (pg->alone) {
        error_set(error, "database: a COMMIT was not confirmed by the synchronous standby");
        pg->lost = true; /* as if no result had arrived */
    }
    return !pg->alone;
}

bool pg_finish(struct sql_session *pg)
{
    struct error ignored;
    while (pg->in_batch && !pg->lost) {
        if (!pg_wait_result(pg, &ignored))
            break;
        PGresult *result = PQgetResult(pg->conn);
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            pg->in_batch = false;
            pg->timeout_ms = SQL_TIMEOUT_MS;
            pg->receive_max = PG_RECEIVE_MAX;
            pg->lost = !PQexitPipelineMode(pg->conn);
            settle_prepared(pg);
        } else if (result != NULL) {
            if (PQresultStatus(result) == PGRES_COMMAND_OK)
                confirm_prepared(pg, pg->results);
            pg->results++;
        }
        if (PQstatus(pg->conn) != CONNECTION_OK)
            pg->lost = true;
        PQclear(result);
    }
    for (PGnotify *notify; (notify = PQnotifies(pg->conn)) != NULL; pg->notified = true)
        PQfreemem(notify); /* libpq keeps them until then */
    return pg_usable(pg);
}

static bool listen_to(struct sql_session *pg, const char *channel)
{
    struct error ignored;
    char *name = PQescapeIdentifier(pg->conn, channel, strlen(channel));
    char *text OD_CLEANUP(base_free) = base_printf("LISTEN %s", name != NULL ? name : "");
    PQfreemem(name);
    pg_add(pg, text, 0, NULL);
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = pg_send(pg, &ignored) ? pg_next(pg, &ignored) : NULL;
    return pg_finish(pg) && rows != NULL;
}

bool pg_wait(struct sql_session *pg, const struct config *config, int fd)
{
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = PQsocket(pg->conn), .events = POLLIN}};
    if (config->record.notify[0] == '\0' || !pg->direct)
        return false;
    if (!pg->listens)
        return pg->listens = listen_to(pg, config->record.notify);
    if (!pg->notified)
        (void)poll(polled, G_N_ELEMENTS(polled), SQL_WATCH_MS);
    pg->notified = false;
    return true;
}
