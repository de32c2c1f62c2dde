/* SPDX-License-Identifier: ISC
 *
 * Shared by the pg*.c files. */
#ifndef ONCEDROP_PG_INTERNAL_H
#define ONCEDROP_PG_INTERNAL_H

#include <glib.h>

#include "ledger/pg.h"

struct pg {
    PGconn *conn;
    char *schema;           /* quoted */
    GHashTable *statements; /* sent on this connection: text as given -> struct pg_statement */
    bool direct;            /* the session is the server's own, not a pooler's: prepared names stay valid */
    bool in_batch;
    bool skipped; /* an earlier statement of the batch failed */
    bool lost;
    bool failed;         /* a statement could not be added, ... */
    struct fault fault;  /* ... and why; the connection is lost */
    bool alone;          /* a COMMIT did not wait for the synchronous standby */
    size_t added, taken; /* number of statements added to the batch, and of results taken */
    unsigned prepared;   /* number of names used so far */
    GPtrArray *prepares; /* of the batch: for each result to come, the pg_statement that it prepares, or NULL */
    size_t results;      /* number of these taken */
    size_t unflushed;
    int64_t timeout_ms;            /* limit of each wait for the server */
    int64_t received, receive_max; /* of the batch, in bytes */
    char sqlstate[6];
};

/* A statement text as it is sent to the server. */
struct pg_statement {
    char *sql;     /* with the name of the schema */
    char name[24]; /* "": not prepared */
    bool used;     /* sent at least once */
    bool stands;   /* its PREPARE has succeeded */
};

/* Counts the bytes available before libpq reads them: it keeps results and messages of any length in memory. */
bool pg_count_received(struct pg *pg, struct fault *fault) OD_MUST;

/* The value of a keyword; NULL if it is not set, or there are no options. */
const char *pg_option(const PQconninfoOption *options, const char *keyword) OD_MUST;

/* The entries of a list such as host (g_strfreev); none if it is not set. */
char **pg_option_list(const PQconninfoOption *options, const char *keyword) OD_MUST;

void pg_options_free(PQconninfoOption **options); /* for OD_CLEANUP */

/* A message of libpq's on one line, without repeated lines; a new string. */
char *pg_reason(const char *message) OD_MUST;

/* The same for a message about a conninfo; quoted parts are removed if the conninfo may contain a password. */
char *pg_reason_conninfo(const char *conninfo, const char *message) OD_MUST;

/* Whether a connection failed because a server on this machine has no role for the login name of this process. */
bool pg_reason_is_login(const PGconn *conn) OD_MUST;

/* Sets the fault to `what` and libpq's message, and marks the connection as unusable. Always false. */
bool pg_lose(struct pg *pg, struct fault *fault, const char *what);

/* 1: ready; 0: time limit reached; -1: error. until: base_now_ms() */
int pg_wait_socket(struct pg *pg, short events, int64_t until) OD_MUST;

/* Sends what libpq has buffered, while reading: the server may not read on before it has written its answers. */
bool pg_flush(struct pg *pg, struct fault *fault) OD_MUST;

/* Waits until PQgetResult would not block. */
bool pg_wait_result(struct pg *pg, struct fault *fault) OD_MUST;

/* Sets fault and SQLSTATE from the result of a failed statement. Always false. */
bool pg_statement_failed(struct pg *pg, const PGresult *result, struct fault *fault);

/* The statement for a text. When a text is sent for the second time, this adds a PREPARE to the batch. NULL with the
 * fault set if the connection is lost. */
const struct pg_statement *pg_statement(struct pg *pg, const char *sql, size_t count, struct fault *fault) OD_MUST;

/* To be called for each successful result of the batch, by position. True if it was the result of a PREPARE. */
bool pg_statement_confirm(struct pg *pg, size_t result);

/* At the end of a batch: a PREPARE that was not confirmed has failed. */
void pg_statements_settle(struct pg *pg);

/* Prepares pg->statements and pg->prepares for a new connection. */
void pg_statements_begin(struct pg *pg);

#endif
