/* SPDX-License-Identifier: ISC
 *
 * A PostgreSQL connection on which no call waits without a bound (asynchronous libpq and poll). Statements go out in
 * batches: one pipeline, one round trip (libpq-pipeline-mode). Nothing is set for the session, and nothing is named
 * where a pooler stands in between (pg_server_process), so that it may be a transaction-pooling PgBouncer. */
#ifndef ONCEDROP_PG_H
#define ONCEDROP_PG_H

#include <libpq-fe.h>

#include "base/base.h"

#define PG_TIMEOUT_MS 30000 /* for connecting, and for each wait on the server */
#define PG_MAX_PARAMS 20
#define PG_TEXT_MAX 16384 /* bytes of a text, unless its parameter says more */

#define PG_RECEIVE_MAX (INT64_C(32) << 20) /* bytes that the results of a batch may have */

struct pg;

/* Connects. Keepalives and tcp_user_timeout are added where the conninfo does not say otherwise.
 *
 * conninfo     libpq connection string or URI
 * application  application_name, unless the conninfo has one
 * schema       takes the place of @schema@ in every statement, quoted
 * verify       over the network only with sslmode=verify-full: nothing is sent to what is refused (pg_peer.h)
 *
 * Returns a connection, or NULL with the fault set; its code is 28000 (invalid_authorization_specification) when the server at a unix socket refused the
 * user who is named as the process's own. */
struct pg *pg_open(const char *conninfo, const char *application, const char *schema, bool verify,
                   struct fault *fault) OD_MUST;

/* What a conninfo says for a keyword, a new string; NULL when it says nothing or is none. */
char *pg_conninfo_value(const char *conninfo, const char *keyword) OD_MUST;

/* How the connection is secured, as pg_peer_describe says it. */
const char *pg_secured(const struct pg *pg, bool *ret_good) OD_MUST;

/* Closes without waiting; an open transaction is rolled back by the server. */
void pg_close(struct pg **pg);

/* False after the connection was lost or gave no answer in time: then nothing more can be done with it. */
bool pg_usable(const struct pg *pg) OD_MUST;

/* For a connection that lay idle: looks whether the server has closed it meanwhile, without asking it anything. */
void pg_look(struct pg *pg);

/* How long each wait on the server may take, in place of PG_TIMEOUT_MS, up to the end of the batch: longer for statements
 * that wait for a lock, shorter for a question whose silence is an answer. */
void pg_set_timeout(struct pg *pg, int64_t ms);

/* pg_backend_pid() as a statement of this connection gave it. Where it is that of the server we connected to, and not one
 * behind a pooler, statements that are sent again are prepared from now on. */
void pg_server_process(struct pg *pg, int64_t pid);

/* The next batch's results may be of any size: for people's questions. */
void pg_receive_any(struct pg *pg);

/* A parameter: text, or binary for bytea. NULL data is SQL NULL. Text may come from anybody: it reaches the server as
 * valid UTF-8, U+FFFD for what is none, cut at a character when it is longer than `max`. So what tells one row from
 * another must be valid and short before it comes here (route/), or two could become one. */
struct pg_param {
    const char *data;
    size_t max; /* of text, in bytes; 0: PG_TEXT_MAX */
    int length; /* of binary data */
    bool binary;
};

/* A bytea parameter. */
struct pg_param pg_bytes(const void *bytes, size_t length);

/* A text parameter that is a literal of pg_text_array: not cut, for its items were. */
struct pg_param pg_array(const char *literal);

/* A text as it reaches the server (see pg_param), as a new string (free(3)); NULL when it can go as it is. */
char *pg_text_fit(const char *text, size_t max) OD_MUST;

/* Writes a number for a parameter into text; returns text. */
const char *pg_number(int64_t number, char text[24]);

/* An array literal for a text[] parameter (pg_array): each item is made fit as a text is, NULL items are SQL NULL; to be
 * freed with free(3). */
char *pg_text_array(const char *const *items, size_t count) OD_MUST;

/* Adds a statement to the batch, starting one when there is none; its bytes may be on the way before pg_send.
 * params[count]; count at most PG_MAX_PARAMS. False with the fault set when the connection is lost. */
bool pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params, struct fault *fault) OD_MUST;

/* Ends the batch and sends it off without waiting for results. */
bool pg_send(struct pg *pg, struct fault *fault) OD_MUST;

/* The mark of the statement that will be added next: by it its result is taken. */
size_t pg_mark(const struct pg *pg) OD_MUST;

/* The result of the statement with this mark (PQclear); those before it that were not taken are dropped. NULL with the
 * fault set when that statement or one before it failed, or the connection is lost; the fault is that of the first
 * failure, and is left as it is when that was told already. */
PGresult *pg_take(struct pg *pg, size_t mark, struct fault *fault) OD_MUST;

/* Whether all statements before this mark succeeded; their results are dropped. */
bool pg_passed(struct pg *pg, size_t mark, struct fault *fault) OD_MUST;

/* Whether the statement with this mark, a COMMIT, committed: only if its command tag says so (after an error it is
 * ROLLBACK). */
bool pg_committed(struct pg *pg, size_t mark, struct fault *fault) OD_MUST;

/* Drops what is left of the batch's results and ends it; false when the connection is lost. */
bool pg_finish(struct pg *pg);

/* Runs several statements, separated by semicolons, in one transaction (the simple query protocol). */
bool pg_script(struct pg *pg, const char *sql, struct fault *fault) OD_MUST;

/* SQLSTATE of the last failed statement, "" when there was none (connection lost). */
const char *pg_sqlstate(const struct pg *pg) OD_MUST;

/* Number and text of a column; NULL columns are 0 and "". */
int64_t pg_int(const PGresult *result, int row, int column) OD_MUST;
bool pg_bool(const PGresult *result, int row, int column) OD_MUST;

void pg_clear(PGresult **result); /* for OD_CLEANUP */

#endif
