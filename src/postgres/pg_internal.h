/* SPDX-License-Identifier: ISC
 *
 * Shared by the pg*.c files. */
#ifndef ONCEDROP_PG_INTERNAL_H
#define ONCEDROP_PG_INTERNAL_H

#include <glib.h>

#include "postgres/pg.h"

struct pg {
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

/* Counts the bytes available before libpq reads them: it keeps results and messages of any length in memory. */
bool pg_count_received(struct pg *pg, struct fault *fault) OD_MUST;

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

/* Sets the fault and its code from the result of a failed statement. Always false. */
bool pg_statement_failed(struct pg *pg, const PGresult *result, struct fault *fault);

/* Prepares pg->statements and pg->prepares for a new connection. */
void pg_statements_begin(struct pg *pg);

#endif
