/* SPDX-License-Identifier: ISC
 *
 * A session with PostgreSQL on which every wait has a limit (asynchronous libpq and poll). Statements are sent in
 * batches: one pipeline, one round trip (libpq-pipeline-mode). It sets nothing for the session, and prepares no
 * statements if there is a pooler in between (pg_note_settings), so a transaction-pooling PgBouncer will do.
 *
 * Functions that have their like in sql_engine.h do what is said there, or in sql.h. */
#ifndef ONCEDROP_PG_H
#define ONCEDROP_PG_H

#include <glib.h>
#include <libpq-fe.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"
#include "sql/sql_text.h"

#define PG_RECEIVE_MAX (INT64_C(32) << 20) /* maximum bytes of the results of a batch */

struct sql_session {
    PGconn *conn;
    char *schema;           /* quoted */
    GHashTable *statements; /* sent on this connection: text as given -> struct statement */
    size_t settings;        /* in the batch: the mark of the statement that pg_note_settings means; SIZE_MAX: none */
    bool direct;            /* the session is the server's own, not a pooler's: prepared names stay valid */
    bool in_batch;
    bool skipped; /* an earlier statement of the batch failed */
    bool lost;
    bool failed;         /* a statement could not be added, ... */
    struct fault fault;  /* ... and why; the connection is lost */
    bool alone;          /* a COMMIT did not wait for the synchronous standby */
    size_t added, taken; /* number of statements added to the batch, and of results taken */
    unsigned prepared;   /* number of names used so far */
    GPtrArray *prepares; /* of the batch: for each result to come, the statement that it prepares, or NULL */
    size_t results;      /* number of these taken */
    size_t unflushed;
    int64_t timeout_ms;            /* limit of each wait for the server */
    int64_t received, receive_max; /* of the batch, in bytes */
};

/* pg_connect.c */

/* Connects. Adds keepalives and tcp_user_timeout unless the conninfo sets them. With database.tls = verify the network is
 * used only with sslmode=verify-full; otherwise the connection is refused before anything is sent (pg_peer.c). The fault's
 * code is 28000 (invalid_authorization_specification) if a server on a unix socket refused a user with the name of the
 * process's own user. */
struct sql_session *pg_open(const struct config *config, const char *application, struct fault *fault) OD_MUST;

void pg_close(struct sql_session *pg); /* NULL: nothing */

/* pg_batch.c */

/* Adds a statement to the batch, with $1 ... for values[count]; @schema@ in it is the schema's name, quoted. */
void pg_add(struct sql_session *pg, const char *sql, size_t count, const struct sql_value *values);

/* The statement that was added last returns pg_backend_pid() in its last column. If that is the process of the server we
 * connected to, there is no pooler in between, and statements that are sent repeatedly are prepared from then on. */
void pg_note_settings(struct sql_session *pg);

bool pg_send(struct sql_session *pg, struct fault *fault) OD_MUST;
size_t pg_mark(const struct sql_session *pg) OD_MUST;
PGresult *pg_take(struct sql_session *pg, size_t mark, struct fault *fault) OD_MUST; /* PQclear */
bool pg_passed(struct sql_session *pg, size_t mark, struct fault *fault) OD_MUST;

/* The command tag must say COMMIT: after an error it is ROLLBACK. If it is not on the synchronous standby, since the wait for
 * that was cancelled, the connection is lost. */
bool pg_committed(struct sql_session *pg, size_t mark, struct fault *fault) OD_MUST;

bool pg_finish(struct sql_session *pg);

void pg_clear(PGresult **result); /* for OD_CLEANUP */

/* Prepares pg->statements and pg->prepares for a new connection. */
void pg_statements_begin(struct sql_session *pg);

/* pg_value.c: a value as a parameter; NULL data is SQL NULL. */
struct pg_param {
    const char *data;
    char *made; /* what data points to if it is new (free(3)), or NULL */
    size_t size;
    bool binary;
};
struct pg_param pg_param_of(const struct sql_value *value) OD_MUST;

/* pg_wire.c */

bool pg_usable(const struct sql_session *pg) OD_MUST;
bool pg_in_transaction(const struct sql_session *pg) OD_MUST;
void pg_look(struct sql_session *pg);
void pg_set_timeout(struct sql_session *pg, int64_t ms);
void pg_receive_any(struct sql_session *pg);
bool pg_script(struct sql_session *pg, const char *sql, struct fault *fault) OD_MUST; /* simple query protocol */

/* Counts the bytes available before libpq reads them: it keeps results and messages of any length in memory. */
bool pg_count_received(struct sql_session *pg, struct fault *fault) OD_MUST;

/* Sets the fault to `what` and libpq's message, and marks the connection as unusable. Always false. */
bool pg_lose(struct sql_session *pg, struct fault *fault, const char *what);

/* 1: ready; 0: time limit reached; -1: error. until: base_now_ms() */
int pg_wait_socket(struct sql_session *pg, short events, int64_t until) OD_MUST;

/* Sends what libpq has buffered, while reading: the server may not read on before it has written its answers. */
bool pg_flush(struct sql_session *pg, struct fault *fault) OD_MUST;

/* Waits until PQgetResult would not block. */
bool pg_wait_result(struct sql_session *pg, struct fault *fault) OD_MUST;

/* Sets the fault and its code from the result of a failed statement. Always false. */
bool pg_statement_failed(struct sql_session *pg, const PGresult *result, struct fault *fault);

/* pg_peer.c */

enum pg_peer {
    PG_PEER_SOCKET,   /* a unix socket */
    PG_PEER_LOOPBACK, /* TCP within this host */
    PG_PEER_REMOTE,   /* anything else */
};

/* What an entry of libpq's lists host and hostaddr leads to, by its name alone; NULL and "" are entries not given. */
enum pg_peer pg_peer_named(const char *host, const char *hostaddr) OD_MUST;

/* What a socket is connected to; PG_PEER_SOCKET also if it is not connected. */
enum pg_peer pg_peer_of(int fd) OD_MUST;

/* Whether we may connect to all of the hosts, by their names: those on other machines only with sslmode=verify-full.
 * The arguments are the options in force for the connection (PQconninfo), NULL if not set. The fault names the first
 * host that is refused. */
bool pg_peer_check_names(const char *hosts, const char *hostaddrs, const char *sslmode, struct fault *fault) OD_MUST;

/* The same for a connection that is being established: first checks its options, whether they came from connection
 * string, service file or environment, then what its socket is connected to, since a name may lead anywhere. To be
 * called before each PQconnectPoll. */
bool pg_peer_check(PGconn *conn, struct fault *fault) OD_MUST;

const char *pg_secured(const struct sql_session *pg, bool *ret_good) OD_MUST;

/* pg_conninfo.c */

/* The value of a keyword in a conninfo, a new string; NULL if it is not set or the conninfo is invalid. */
char *pg_conninfo_value(const char *conninfo, const char *keyword) OD_MUST;

/* A conninfo for only the n-th of the hosts that a conninfo lists, a new string; NULL if it lists fewer. ret_name (or
 * NULL): receives what the host is called, a new string. */
char *pg_conninfo_host(const char *conninfo, size_t n, char **ret_name) OD_MUST;

/* The value of a keyword; NULL if it is not set, or there are no options. */
const char *pg_option(const PQconninfoOption *options, const char *keyword) OD_MUST;

/* The options that are lists, with one entry for each host. libpq tries one after the other. */
enum pg_list { PG_HOST, PG_HOSTADDR, PG_PORT, PG_LISTS };
extern const char *const pg_list_keywords[PG_LISTS];

struct pg_lists {
    char **entries[PG_LISTS]; /* each NULL-terminated; without any if it is not set */
    guint hosts;              /* at least 1 */
};

struct pg_lists pg_lists_new(const PQconninfoOption *options) OD_MUST;
void pg_lists_clear(struct pg_lists *lists); /* for OD_CLEANUP */

/* Which list an option is; PG_LISTS: none. */
enum pg_list pg_list_of(const char *keyword) OD_MUST;

void pg_options_free(PQconninfoOption **options); /* for OD_CLEANUP */

/* pg_reason.c */

/* A message of libpq's on one line, without repeated lines; a new string. */
char *pg_reason(const char *message) OD_MUST;

/* The same for a message about a conninfo; quoted parts are removed if the conninfo may contain a password. */
char *pg_reason_conninfo(const char *conninfo, const char *message) OD_MUST;

/* Whether a connection failed because a server on this machine has no role for the login name of this process. */
bool pg_reason_is_login(const PGconn *conn) OD_MUST;

#endif
