/* SPDX-License-Identifier: ISC
 *
 * Who is at the other end of a connection to the database, and whether password and mail may be sent there. libpq's
 * sslmode=prefer encrypts to anybody who answers, and sends in the clear if asked to. */
#ifndef ONCEDROP_PG_PEER_H
#define ONCEDROP_PG_PEER_H

#include <libpq-fe.h>

#include "base/base.h"

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

#endif
