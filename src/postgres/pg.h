/* SPDX-License-Identifier: ISC
 *
 * A session with PostgreSQL: asynchronous libpq and poll(2), with a timeout for each wait. A batch is one pipeline
 * (libpq-pipeline-mode). PgBouncer may pool transactions: nothing is set for the session, and behind a pooler nothing
 * is prepared (pg_detect_pooler).
 *
 * Functions without a comment: see sql_engine.h. On false or NULL the error is set. */
#ifndef ONCEDROP_PG_H
#define ONCEDROP_PG_H

#include <glib.h>
#include <libpq-fe.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"

#define PG_RECEIVE_MAX (INT64_C(32) << 20) /* bytes of results per batch */

struct sql_session {
    PGconn *conn;
    char *schema;           /* quoted */
    GHashTable *statements; /* text -> struct statement */
    size_t settings;        /* the result's number, for pg_detect_pooler; SIZE_MAX: none */
    bool direct;            /* no pooler: prepared statements persist */
    bool in_batch;
    bool lost;
    bool listens;  /* to record.notify */
    bool notified; /* since the last pg_wait() */
    bool failed;   /* a statement could not be added */
    struct error error;
    bool alone;   /* a COMMIT did not wait for the synchronous standby */
    char tag[16]; /* of the last result */
    unsigned prepared;
    GPtrArray *prepares; /* by result: what it prepares, or NULL */
    size_t results;      /* number of these taken */
    size_t unflushed;
    int64_t timeout_ms;            /* of each wait */
    int64_t received, receive_max; /* bytes, of the batch */
};

/* pg_connect.c */

/* Connects. Adds keepalives and tcp_user_timeout unless conninfo sets them. With database.tls = verify, a network
 * connection requires sslmode=verify-full (pg_peer.c). The error code is 28000 (invalid_authorization_specification)
 * if a local server has no role for this process's user. */
struct sql_session *pg_open(const struct config *config, const char *application, struct error *error) OD_MUST;

void pg_close(struct sql_session *pg);

/* pg_batch.c */

/* Adds a statement: $1 ... are the values, @schema@ the quoted schema. */
void pg_add(struct sql_session *pg, const char *sql, size_t count, const struct sql_value *values);

/* The statement added last returns pg_backend_pid() in its last column. If that is the connection's process, there
 * is no pooler, and repeated statements are prepared. */
void pg_detect_pooler(struct sql_session *pg);

/* Makes the server send the results of what was added so far, before it executes the rest of the batch. */
void pg_request_results(struct sql_session *pg);

bool pg_send(struct sql_session *pg, struct error *error) OD_MUST;
struct sql_rows *pg_next(struct sql_session *pg, struct error *error) OD_MUST;

/* The command tag must be COMMIT; after an error it is ROLLBACK. If the wait for the synchronous standby was
 * cancelled, the connection is lost. */
bool pg_committed(struct sql_session *pg, struct error *error) OD_MUST;

bool pg_finish(struct sql_session *pg);

/* Listens to record.notify. A pooler would give the notifications to others. */
bool pg_wait(struct sql_session *pg, const struct config *config, int fd) OD_MUST;

void pg_clear(PGresult **result);

/* Initialises pg->statements and pg->prepares. */
void pg_statements_begin(struct sql_session *pg);

/* pg_rows.c */

/* A parameter; NULL data is SQL NULL. */
struct pg_param {
    const char *data;
    char *owned; /* owns data (free(3)); or NULL */
    size_t size;
    bool binary;
};
struct pg_param pg_param_of(const struct sql_value *value) OD_MUST;

/* Copies a result. */
struct sql_rows *pg_rows(PGresult *result) OD_MUST;

/* pg_hint.c */

#define PG_NO_ROLE "28000"      /* error code: no role for the process's user */
#define PG_READ_ONLY "readonly" /* error code of ours: target_session_attrs excludes the host */

/* By conninfo or PGUSER, like libpq. */
bool pg_login_is_service(const struct config *config) OD_MUST;

char *pg_login_command(const struct config *config, const struct error *error) OD_MUST;
char *pg_hint(const struct config *config, const char *role, const struct error *error) OD_MUST;

/* pg_wire.c */

bool pg_usable(const struct sql_session *pg) OD_MUST;
bool pg_in_transaction(const struct sql_session *pg) OD_MUST;
void pg_check_connection(struct sql_session *pg);
void pg_set_timeout(struct sql_session *pg, int64_t ms);
void pg_unlimit_result(struct sql_session *pg);
bool pg_script(struct sql_session *pg, const char *sql, struct error *error) OD_MUST; /* simple query protocol */

/* Counts the available bytes before libpq buffers them, which it does without limit. */
bool pg_count_received(struct sql_session *pg, struct error *error) OD_MUST;

/* Sets the error to `what` and libpq's message. The connection is lost. Returns false. */
bool pg_lose(struct sql_session *pg, struct error *error, const char *what);

/* Returns 1: ready; 0: timeout; -1: error. until: base_now_ms() */
int pg_wait_socket(struct sql_session *pg, short events, int64_t until) OD_MUST;

/* Sends all. Also reads: the server may block until its results are read. */
bool pg_flush(struct sql_session *pg, struct error *error) OD_MUST;

/* Waits until PQgetResult would not block. */
bool pg_wait_result(struct sql_session *pg, struct error *error) OD_MUST;

/* Sets the error from a failed statement. Returns false. */
bool pg_statement_failed(struct sql_session *pg, const PGresult *result, struct error *error);

/* pg_peer.c */

enum pg_peer {
    PG_PEER_SOCKET,
    PG_PEER_LOOPBACK, /* TCP within this host */
    PG_PEER_REMOTE,
};

/* Classifies a host by its entries in libpq's lists host and hostaddr; NULL and "": none. */
enum pg_peer pg_peer_named(const char *host, const char *hostaddr) OD_MUST;

/* Classifies a socket's peer; PG_PEER_SOCKET also if not connected. */
enum pg_peer pg_peer_of(int fd) OD_MUST;

/* Checks names: remote hosts require sslmode=verify-full. Arguments: as from PQconninfo, NULL if not set. The error
 * names the first host refused. */
bool pg_peer_check_names(const char *hosts, const char *hostaddrs, const char *sslmode, struct error *error) OD_MUST;

/* Called before each PQconnectPoll: checks the options in force, then the socket's peer, since a name may resolve to
 * anything. */
bool pg_peer_check(PGconn *conn, struct error *error) OD_MUST;

const char *pg_tls_summary(const struct sql_session *pg, bool *ret_ok) OD_MUST;

/* pg_conninfo.c */

/* Returns a new string; NULL: not set, or conninfo is invalid. */
char *pg_conninfo_value(const char *conninfo, const char *keyword) OD_MUST;

/* See nth_host in sql_engine.h. */
char *pg_nth_host(const struct config *config, size_t n, char **ret_name) OD_MUST;

/* NULL: not set, or no options. */
const char *pg_option(const PQconninfoOption *options, const char *keyword) OD_MUST;

/* Lists with an entry per host. */
enum pg_list { PG_HOST, PG_HOSTADDR, PG_PORT, PG_LISTS };
extern const char *const pg_list_keywords[PG_LISTS];

struct pg_lists {
    char **entries[PG_LISTS]; /* NULL-terminated; empty if not set */
    guint hosts;              /* at least 1 */
};

struct pg_lists pg_lists_new(const PQconninfoOption *options) OD_MUST;
void pg_lists_clear(struct pg_lists *lists);

/* Returns PG_LISTS for other options. */
enum pg_list pg_list_of(const char *keyword) OD_MUST;

void pg_options_free(PQconninfoOption **options);

/* pg_reason.c */

/* Returns libpq's message on one line, without repetition, a new string. */
char *pg_reason(const char *message) OD_MUST;

/* Like pg_reason(), but masks quoted parts if conninfo may contain a password. */
char *pg_reason_conninfo(const char *conninfo, const char *message) OD_MUST;

/* Returns whether a local server has no role for this process's user. */
bool pg_reason_is_login(const PGconn *conn) OD_MUST;

#endif
