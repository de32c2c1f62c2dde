/* SPDX-License-Identifier: ISC
 *
 * A PostgreSQL connection on which every wait has a limit (asynchronous libpq and poll). Statements are sent in
 * batches: one pipeline, one round trip (libpq-pipeline-mode). It sets nothing for the session, and prepares no
 * statements if there is a pooler in between (pg_note_settings), so a transaction-pooling PgBouncer will do. */
#ifndef ONCEDROP_PG_H
#define ONCEDROP_PG_H

#include <libpq-fe.h>

#include "base/base.h"

#define PG_TIMEOUT_MS 30000 /* for connecting, and for each wait for the server */
#define PG_MAX_PARAMS 20
#define PG_TEXT_MAX 16384 /* maximum bytes of a text parameter, unless it sets its own */

#define PG_RECEIVE_MAX (INT64_C(32) << 20) /* maximum bytes of the results of a batch */

struct pg;

/* Connects. Adds keepalives and tcp_user_timeout unless the conninfo sets them.
 *
 * conninfo     libpq connection string or URI
 * application  application_name, unless the conninfo sets one
 * schema       replaces @schema@ in every statement, quoted
 * verify       use the network only with sslmode=verify-full; otherwise the connection is refused before anything is
 *              sent (pg_peer.c)
 *
 * Returns a connection, or NULL with the fault set. The fault's code is 28000 (invalid_authorization_specification) if
 * a server on a unix socket refused a user with the name of the process's own user. */
struct pg *pg_open(const char *conninfo, const char *application, const char *schema, bool verify,
                   struct fault *fault) OD_MUST;

/* The value of a keyword in a conninfo, a new string; NULL if it is not set or the conninfo is invalid. */
char *pg_conninfo_value(const char *conninfo, const char *keyword) OD_MUST;

/* A conninfo for only the n-th of the hosts that a conninfo lists, a new string; NULL if it lists fewer. ret_name (or
 * NULL): receives what the host is called, a new string. */
char *pg_conninfo_host(const char *conninfo, size_t n, char **ret_name) OD_MUST;

/* For an administrator: how the connection is secured, a phrase. *ret_good: there is nothing to improve. */
const char *pg_secured(const struct pg *pg, bool *ret_good) OD_MUST;

/* Closes without waiting; the server rolls back an open transaction. */
void pg_close(struct pg **pg);

/* False once the connection was lost or an answer did not come in time: it cannot be used any more. */
bool pg_usable(const struct pg *pg) OD_MUST;

/* Whether a transaction was open, or had failed and not ended, when the last batch ended. */
bool pg_in_transaction(const struct pg *pg) OD_MUST;

/* For a connection that was idle: checks whether the server has closed it, without sending anything. */
void pg_look(struct pg *pg);

/* Sets the limit of each wait for the server, instead of PG_TIMEOUT_MS, until the end of the batch: longer for
 * statements that wait for a lock, shorter if no answer is itself an answer. */
void pg_set_timeout(struct pg *pg, int64_t ms);

/* The statement that was added last returns pg_backend_pid() in its last column. If that is the process of the server we
 * connected to, there is no pooler in between, and statements that are sent repeatedly are prepared from then on. */
void pg_note_settings(struct pg *pg);

/* Lifts the size limit from the results of the next batch: for queries for people. */
void pg_receive_any(struct pg *pg);

/* A parameter: text, or binary for bytea. NULL data is SQL NULL. Text may come from strangers; it is sent as valid
 * UTF-8, with U+FFFD in place of invalid bytes, and cut between characters if longer than `max`. Therefore text that
 * identifies a row must have been checked for validity and length before (route/), otherwise two could become one. */
struct pg_param {
    const char *data;
    size_t max; /* maximum bytes of text; 0: PG_TEXT_MAX */
    int length; /* of binary data */
    bool binary;
};

/* The parameters of a statement, for the two arguments of a function that takes their number and the array. */
#define PG_PARAMS(...) \
    sizeof((struct pg_param[]){__VA_ARGS__}) / sizeof(struct pg_param), (const struct pg_param[]) \
    { \
        __VA_ARGS__ \
    }
#define PG_TEXT(text) ((struct pg_param){.data = (text)})
#define PG_BYTES(bytes, size) ((struct pg_param){.data = (const void *)(bytes), .length = (int)(size), .binary = true})
#define PG_ARRAY(literal) \
    ((struct pg_param){.data = (literal), .max = SIZE_MAX}) /* of pg_text_array, which has cut it */
#define PG_BOOL(flag) PG_TEXT((flag) ? "t" : "f")
#define PG_NUMBER(number) PG_TEXT(pg_number((number), (char[24]){""}))
#define PG_NUMBER_IF(there, number) PG_TEXT((there) ? pg_number((number), (char[24]){""}) : NULL)

/* A text as the server will get it (see pg_param), as a new string (free(3)); NULL if it needs no change. */
char *pg_text_fit(const char *text, size_t max) OD_MUST;

/* Formats a number as a parameter; returns text. */
const char *pg_number(int64_t number, char text[24]);

/* An array literal for a text[] parameter (PG_ARRAY): each item is treated as a text parameter, NULL items become SQL
 * NULL; to be freed with free(3). */
char *pg_text_array(const char *const *items, size_t count) OD_MUST;

/* Adds a statement to the batch, starting one if necessary; it may be sent before pg_send. params[count]; count at most
 * PG_MAX_PARAMS. If the connection is lost, pg_send says so. */
void pg_add(struct pg *pg, const char *sql, size_t count, const struct pg_param *params);

/* Ends the batch and sends it without waiting for results. False with the fault set if the connection is lost, or was
 * when a statement was added. */
bool pg_send(struct pg *pg, struct fault *fault) OD_MUST;

/* The mark of the statement that will be added next, by which to take its result. */
size_t pg_mark(const struct pg *pg) OD_MUST;

/* The result of the statement with this mark (PQclear); results before it that were not taken are dropped. NULL with
 * the fault set if this statement or an earlier one failed, or the connection is lost. The fault is that of the first
 * failure; it is set only once. */
PGresult *pg_take(struct pg *pg, size_t mark, struct fault *fault) OD_MUST;

/* Whether all statements before this mark succeeded; drops their results. */
bool pg_passed(struct pg *pg, size_t mark, struct fault *fault) OD_MUST;

/* Whether the statement with this mark, a COMMIT, committed: its command tag must say so (after an error it is
 * ROLLBACK). If it is not on the synchronous standby, since the wait for that was cancelled, the connection is lost. */
bool pg_committed(struct pg *pg, size_t mark, struct fault *fault) OD_MUST;

/* Drops the remaining results of the batch and ends it; false if the connection is lost. */
bool pg_finish(struct pg *pg);

/* Runs several statements, separated by semicolons, in one transaction (simple query protocol). */
bool pg_script(struct pg *pg, const char *sql, struct fault *fault) OD_MUST;

/* Number and truth of a column; SQL NULL gives 0 and false. */
int64_t pg_int(const PGresult *result, int row, int column) OD_MUST;
bool pg_bool(const PGresult *result, int row, int column) OD_MUST;

/* The text of a column, a new string (free(3)); NULL for SQL NULL. */
char *pg_copy(const PGresult *result, int row, int column) OD_MUST;

void pg_clear(PGresult **result); /* for OD_CLEANUP */

#endif
