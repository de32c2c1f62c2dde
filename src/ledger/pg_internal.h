/* SPDX-License-Identifier: ISC
 *
 * What the files of pg share. */
#ifndef ONCEDROP_PG_INTERNAL_H
#define ONCEDROP_PG_INTERNAL_H

#include <glib.h>

#include "ledger/pg.h"

struct pg {
    PGconn *conn;
    char *schema;           /* quoted */
    GHashTable *statements; /* what was sent on this connection: text as given -> struct pg_statement */
    bool direct;            /* the server's own session, not one of a pooler's: names stay known */
    bool in_batch;
    bool skipped; /* an earlier statement of the batch failed */
    bool lost;
    size_t added, taken; /* statements of the batch, and results of it */
    unsigned prepared;   /* names given so far */
    GByteArray *kinds;   /* of the batch: for each result to come, whether it is that of a PREPARE */
    size_t results;      /* taken of these */
    size_t unflushed;
    int64_t timeout_ms;            /* of each wait on the server */
    int64_t received, receive_max; /* of the batch, in bytes */
    char sqlstate[6];
};

/* One text, as it goes to the server. */
struct pg_statement {
    char *sql;     /* with the schema's name */
    char name[24]; /* "": not prepared */
    bool used;     /* once already */
    size_t place;  /* of its PREPARE's result in the batch ... */
    bool stands;   /* ... which said that it is prepared */
};

/* A message of libpq's as one line, each of its lines once; a new string. */
char *pg_reason(const char *message) OD_MUST;

/* The same for what it says of a conninfo, without what it quotes from one that may have a password in it. */
char *pg_reason_conninfo(const char *conninfo, const char *message) OD_MUST;

/* Whether a failed connection was refused for who we are: by a server on this machine, under our own login name. */
bool pg_reason_is_login(const PGconn *conn) OD_MUST;

/* Sets the fault to `what` and libpq's own words: nothing more can be done with the connection. False. */
bool pg_lose(struct pg *pg, struct fault *fault, const char *what);

/* 1: ready; 0: not in time; -1: error. until: base_now_ms() */
int pg_wait_socket(struct pg *pg, short events, int64_t until) OD_MUST;

/* Reads what has come, and has libpq look at it: otherwise it would pile up. */
bool pg_take_in(struct pg *pg, struct fault *fault) OD_MUST;

/* Sends what libpq holds back, reading meanwhile: the server may not read on before it has written its answers. */
bool pg_flush(struct pg *pg, struct fault *fault) OD_MUST;

/* Waits until PQgetResult would not block. */
bool pg_wait_result(struct pg *pg, struct fault *fault) OD_MUST;

/* Sets fault and SQLSTATE from the result of a statement that failed. False. */
bool pg_statement_failed(struct pg *pg, const PGresult *result, struct fault *fault);

/* The statement for a text, which is prepared under a name when it is sent for the second time; its PREPARE is added to the
 * batch then. NULL with the fault set when the connection is lost. */
const struct pg_statement *pg_statement(struct pg *pg, const char *sql, size_t count, struct fault *fault) OD_MUST;

/* A result of the batch, by its place, is a good one: true when it was that of a PREPARE. */
bool pg_statement_confirm(struct pg *pg, size_t result);

/* At the end of a batch: what was not confirmed is not prepared. */
void pg_statements_settle(struct pg *pg);

GHashTable *pg_statements_new(void) OD_MUST;

/* Whether an error says that a prepared statement is not what it was: then the connection is of no more use. */
bool pg_statement_is_stale(const char *sqlstate) OD_MUST;

#endif
