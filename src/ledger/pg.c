/* SPDX-License-Identifier: ISC */
#include "ledger/pg.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "ledger/pg_peer.h"

#define FLUSH_BYTES (256 * 1024)    /* libpq buffers without bound: wait for the server after so much */

struct pg {
    PGconn *conn;
    char *schema;           /* quoted */
    bool in_batch;
    bool skipped;           /* an earlier statement of the batch failed */
    bool lost;
    size_t added, taken;    /* statements of the batch, and results of it */
    size_t unflushed;
    int64_t extra_ms;
    int64_t received, receive_max;  /* of the batch, in bytes */
    char sqlstate[6];
};

static bool lose(struct pg *pg, struct fault *fault, const char *what)
{
    const char *message = PQerrorMessage(pg->conn);
    fault_set(fault, "database: %s%s%s", what, *message ? ": " : "", message);
    pg->lost = true;
    pg->sqlstate[0] = '\0';
    return false;
}

/* 1: ready; 0: not in time; -1: error. */
static int wait_socket(struct pg *pg, short events, int64_t until)
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

/* Counts what is there to be read, before libpq reads it: it keeps results, and messages of any length, whole in memory. */
static bool count_received(struct pg *pg, struct fault *fault)
{
    int waiting = 0;
    (void)ioctl(PQsocket(pg->conn), FIONREAD, &waiting);
    pg->received += waiting > 0 ? waiting : 1;
    if (pg->received <= pg->receive_max)
        return true;
    fault_set(fault, "database: its answer has more than %lld MiB", (long long)(pg->receive_max >> 20));
    pg->lost = true;
    pg->sqlstate[0] = '\0';
    return false;
}

/* Reads what has come, and has libpq look at it: otherwise it would pile up. */
static bool take_in(struct pg *pg, struct fault *fault)
{
    if (!count_received(pg, fault))
        return false;
    if (!PQconsumeInput(pg->conn))
        return lose(pg, fault, "connection lost");
    (void)PQisBusy(pg->conn);
    return true;
}

static void drop_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;   /* libpq would print it to stderr, which Postfix takes for our answer */
}

struct keywords {
    const char *names[64];
    const char *values[64];
    size_t count;
};

static void keywords_add(struct keywords *keywords, const char *name, const char *value)
{
    if (keywords->count + 1 < sizeof(keywords->names) / sizeof(keywords->names[0])) {
        keywords->names[keywords->count] = name;
        keywords->values[keywords->count++] = value;
    }
}

/* The conninfo's own words and, where it is silent, ours. */
static bool start_connecting(struct pg *pg, const char *conninfo, const char *application, struct fault *fault)
{
    static const char *const defaults[][2] = {
        {"keepalives_idle", "30"}, {"keepalives_interval", "10"}, {"keepalives_count", "3"},
        {"tcp_user_timeout", "30000"}, {"connect_timeout", "10"},
    };
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    if (options == NULL) {      /* libpq would say where, by quoting what may be a password */
        fault_set(fault, "[database] conninfo: no libpq connection string (values with blanks stand in '')");
        return false;
    }
    struct keywords keywords = {.count = 0};
    keywords_add(&keywords, "application_name", application);
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        keywords_add(&keywords, defaults[i][0], defaults[i][1]);
    for (const PQconninfoOption *option = options; option->keyword != NULL; option++)
        if (option->val != NULL)
            keywords_add(&keywords, option->keyword, option->val);  /* a later word wins over an earlier one */
    keywords_add(&keywords, "client_encoding", "UTF8");     /* all our text is */
    pg->conn = PQconnectStartParams(keywords.names, keywords.values, 0);    /* begins to connect, sends nothing by TCP */
    PQconninfoFree(options);
    if (pg->conn == NULL)
        abort();    /* no memory: death by signal defers */
    PQsetNoticeReceiver(pg->conn, drop_notice, NULL);
    return true;
}

static bool finish_connecting(struct pg *pg, bool verify, struct fault *fault)
{
    int64_t until = base_now_ms() + PG_TIMEOUT_MS;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    if (verify && !pg_peer_check(pg->conn, fault))
        return false;
    while (PQstatus(pg->conn) != CONNECTION_BAD) {
        if (status == PGRES_POLLING_OK)
            return true;
        if (status == PGRES_POLLING_FAILED)
            break;
        int ready = wait_socket(pg, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, until);
        if (ready <= 0)
            return lose(pg, fault, "no connection within 30 s");
        if ((verify && !pg_peer_check(pg->conn, fault)) || !count_received(pg, fault))
            return false;
        status = PQconnectPoll(pg->conn);
    }
    return lose(pg, fault, "no connection");
}

struct pg *pg_open(const char *conninfo, const char *application, const char *schema, bool verify, struct fault *fault)
{
    struct pg *pg = base_alloc(sizeof(*pg));
    pg->receive_max = PG_RECEIVE_MAX;
    if (!start_connecting(pg, conninfo, application, fault) || !finish_connecting(pg, verify, fault)) {
        pg_close(&pg);
        return NULL;
    }
    char *quoted = PQescapeIdentifier(pg->conn, schema, strlen(schema));
    if (quoted == NULL || PQsetnonblocking(pg->conn, 1) != 0) {
        PQfreemem(quoted);
        lose(pg, fault, "schema name");
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
    base_free(&(*pg)->schema);
    base_free(pg);
}

bool pg_usable(const struct pg *pg)
{
    return !pg->lost && PQstatus(pg->conn) == CONNECTION_OK;
}

/* To the end of what has come: behind a server's last words stands the end of the connection. */
void pg_look(struct pg *pg)
{
    struct fault ignored;
    pg->received = 0;
    while (!pg->lost && wait_socket(pg, POLLIN, base_now_ms()) != 0)
        pg->lost = !take_in(pg, &ignored) || PQstatus(pg->conn) != CONNECTION_OK;
}

void pg_extend_timeout(struct pg *pg, int64_t ms)
{
    pg->extra_ms = ms;
}

void pg_receive_any(struct pg *pg)
{
    pg->receive_max = INT64_MAX;
}

struct pg_param pg_bytes(const void *bytes, size_t length)
{
    return (struct pg_param){.data = bytes, .length = (int)length, .binary = true};
}

struct pg_param pg_array(const char *literal)
{
    return (struct pg_param){.data = literal, .max = SIZE_MAX};
}

/* At most max of the bytes, to the end of a character. */
static size_t cut(const char *text, size_t length, size_t max)
{
    if (length <= max)
        return length;
    size_t end = max;
    while (end > 0 && max - end < 3 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

char *pg_text_fit(const char *text, size_t max)
{
    size_t length = strlen(text);
    if (length <= max && g_utf8_validate(text, (gssize)length, NULL))
        return NULL;
    char *valid = g_utf8_make_valid(text, (gssize)cut(text, length, max));
    char *fit = base_strndup(valid, cut(valid, strlen(valid), max));    /* U+FFFD takes three bytes for one */
    g_free(valid);
    return fit;
}

const char *pg_number(int64_t number, char text[24])
{
    snprintf(text, 24, "%lld", (long long)number);
    return text;
}

char *pg_text_array(const char *const *items, size_t count)
{
    GString *text = g_string_new("{");
    for (size_t i = 0; i < count; i++) {
        char *fit OD_CLEANUP(base_free) = items[i] != NULL ? pg_text_fit(items[i], PG_TEXT_MAX) : NULL;
        const char *from = fit != NULL ? fit : items[i];
        g_string_append(text, i > 0 ? "," : "");
        g_string_append(text, from != NULL ? "\"" : "NULL");
        for (; from != NULL && *from != '\0'; from++) {
            if (*from == '"' || *from == '\\')
                g_string_append_c(text, '\\');
            g_string_append_c(text, *from);
        }
        g_string_append(text, items[i] != NULL ? "\"" : "");
    }
    g_string_append_c(text, '}');
    return g_string_free(text, FALSE);
}

static char *with_schema(const char *sql, const char *schema)
{
    static const char mark[] = "@schema@";
    size_t count = 0, mark_length = sizeof(mark) - 1, schema_length = strlen(schema);
    for (const char *at = sql; (at = strstr(at, mark)) != NULL; at += mark_length)
        count++;
    char *text = base_alloc(strlen(sql) + count * schema_length + 1), *to = text;
    for (const char *at; (at = strstr(sql, mark)) != NULL; sql = at + mark_length) {
        memcpy(to, sql, (size_t)(at - sql));
        to += at - sql;
        memcpy(to, schema, schema_length);
        to += schema_length;
    }
    strcpy(to, sql);
    return text;
}

/* Sends what libpq holds back, reading meanwhile: the server may not read on before it has written its answers. */
static bool flush(struct pg *pg, struct fault *fault)
{
    int64_t until = base_now_ms() + PG_TIMEOUT_MS + pg->extra_ms;
    for (int left; (left = PQflush(pg->conn)) != 0;) {
        if (left < 0)
            return lose(pg, fault, "connection lost");
        int ready = wait_socket(pg, POLLIN | POLLOUT, until);
        if (ready <= 0)
            return lose(pg, fault, "no answer in time");
        if (!take_in(pg, fault))
            return false;
    }
    pg->unflushed = 0;
    return true;
}

static bool enter_batch(struct pg *pg, struct fault *fault)
{
    if (!pg_usable(pg))
        return lose(pg, fault, "connection lost");
    if (pg->in_batch)
        return true;
    if (!PQenterPipelineMode(pg->conn))
        return lose(pg, fault, "connection busy");
    pg->in_batch = true;
    pg->received = 0;
    pg->added = pg->taken = 0;
    pg->skipped = false;
    pg->sqlstate[0] = '\0';
    return true;
}

size_t pg_mark(const struct pg *pg)
{
    return pg->in_batch ? pg->added : 0;
}

bool pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params, struct fault *fault)
{
    const char *values[PG_MAX_PARAMS];
    char *fit[PG_MAX_PARAMS];
    int lengths[PG_MAX_PARAMS], formats[PG_MAX_PARAMS];
    if (count > PG_MAX_PARAMS)
        abort();
    if (!enter_batch(pg, fault))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool is_text = params[i].data != NULL && !params[i].binary;
        fit[i] = is_text ? pg_text_fit(params[i].data, params[i].max > 0 ? params[i].max : PG_TEXT_MAX) : NULL;
        values[i] = fit[i] != NULL ? fit[i] : params[i].data;
        lengths[i] = params[i].length;
        formats[i] = params[i].binary;
        if (values[i] != NULL)
            pg->unflushed += params[i].binary ? (size_t)params[i].length : strlen(values[i]);
    }
    char *text OD_CLEANUP(base_free) = with_schema(sql, pg->schema);
    bool sent = PQsendQueryParams(pg->conn, text, (int)count, NULL, values, lengths, formats, 0);
    for (size_t i = 0; i < count; i++)
        base_free(&fit[i]);
    if (!sent)
        return lose(pg, fault, "connection lost");
    pg->added++;
    return pg->unflushed < FLUSH_BYTES || flush(pg, fault);
}

bool pg_send(struct pg *pg, struct fault *fault)
{
    if (!pg_usable(pg) || !PQpipelineSync(pg->conn))
        return lose(pg, fault, "connection lost");
    return flush(pg, fault);
}

/* Waits until PQgetResult would not block. */
static bool wait_result(struct pg *pg, struct fault *fault)
{
    int64_t until = base_now_ms() + PG_TIMEOUT_MS + pg->extra_ms;
    while (PQisBusy(pg->conn)) {
        int ready = wait_socket(pg, POLLIN, until);
        if (ready <= 0)
            return lose(pg, fault, "no answer in time");
        if (!take_in(pg, fault))
            return false;
    }
    return true;
}

static bool statement_failed(struct pg *pg, const PGresult *result, struct fault *fault)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (PQstatus(pg->conn) == CONNECTION_BAD)
        return lose(pg, fault, "connection lost");
    snprintf(pg->sqlstate, sizeof(pg->sqlstate), "%s", sqlstate ? sqlstate : "");
    fault_set(fault, "database: %s (SQLSTATE %s)", message ? message : PQresultErrorMessage(result),
              sqlstate ? sqlstate : "unknown");
    return false;
}

static PGresult *next(struct pg *pg, struct fault *fault)
{
    if (pg->skipped || pg->lost || !pg->in_batch)
        return NULL;
    PGresult *result = NULL;
    for (int i = 0; i < 2 && result == NULL; i++) {     /* a NULL ends the results of the statement before */
        if (!wait_result(pg, fault))
            return NULL;
        result = PQgetResult(pg->conn);
    }
    if (result == NULL) {
        lose(pg, fault, "connection lost");
        return NULL;
    }
    ExecStatusType status = PQresultStatus(result);
    pg->taken++;
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return result;
    pg->skipped = true;
    if (status == PGRES_PIPELINE_SYNC)      /* more results asked for than statements sent */
        abort();
    statement_failed(pg, result, fault);
    PQclear(result);
    return NULL;
}

bool pg_passed(struct pg *pg, size_t mark, struct fault *fault)
{
    while (pg->taken < mark) {
        PGresult *result OD_CLEANUP(pg_clear) = next(pg, fault);
        if (result == NULL)
            return false;
    }
    return true;
}

PGresult *pg_take(struct pg *pg, size_t mark, struct fault *fault)
{
    return pg_passed(pg, mark, fault) ? next(pg, fault) : NULL;
}

bool pg_committed(struct pg *pg, size_t mark, struct fault *fault)
{
    PGresult *result OD_CLEANUP(pg_clear) = pg_take(pg, mark, fault);
    if (result == NULL)
        return false;
    if (strcmp(PQcmdStatus(result), "COMMIT") == 0)
        return true;
    fault_set(fault, "database: COMMIT answered %s", PQcmdStatus(result));
    return false;
}

/* Nobody has asked for any; libpq keeps them until somebody does. */
static void drop_notifications(struct pg *pg)
{
    for (PGnotify *notify; (notify = PQnotifies(pg->conn)) != NULL;)
        PQfreemem(notify);
}

bool pg_finish(struct pg *pg)
{
    struct fault ignored;
    while (pg->in_batch && !pg->lost) {
        if (!wait_result(pg, &ignored))
            break;
        PGresult *result = PQgetResult(pg->conn);
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            pg->in_batch = false;
            pg->extra_ms = 0;
            pg->receive_max = PG_RECEIVE_MAX;
            pg->lost = !PQexitPipelineMode(pg->conn);
        }
        if (PQstatus(pg->conn) != CONNECTION_OK)
            pg->lost = true;
        PQclear(result);
    }
    drop_notifications(pg);
    return pg_usable(pg);
}

bool pg_script(struct pg *pg, const char *sql, struct fault *fault)
{
    bool done = true;
    pg->received = 0;
    if (!pg_usable(pg) || !PQsendQuery(pg->conn, sql))
        return lose(pg, fault, "connection lost");
    if (!flush(pg, fault))
        return false;
    for (;;) {
        if (!wait_result(pg, fault))
            return false;
        PGresult *result OD_CLEANUP(pg_clear) = PQgetResult(pg->conn);
        if (result == NULL)
            return done;
        ExecStatusType status = PQresultStatus(result);
        if (done && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            done = statement_failed(pg, result, fault);
    }
}

const char *pg_sqlstate(const struct pg *pg)
{
    return pg->sqlstate;
}

int64_t pg_int(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

bool pg_bool(const PGresult *result, int row, int column)
{
    return PQgetvalue(result, row, column)[0] == 't';
}

void pg_clear(PGresult **result)
{
    PQclear(*result);
    *result = NULL;
}
