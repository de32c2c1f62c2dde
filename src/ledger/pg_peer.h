/* SPDX-License-Identifier: ISC
 *
 * Who is at the other end of a connection to the database, and whether it may be given a password and mail. libpq's
 * sslmode=prefer encrypts for whoever answers, and does without when asked to. */
#ifndef ONCEDROP_PG_PEER_H
#define ONCEDROP_PG_PEER_H

#include <libpq-fe.h>

#include "base/base.h"

enum pg_peer {
    PG_PEER_SOCKET,   /* a unix socket */
    PG_PEER_LOOPBACK, /* TCP that does not leave this host */
    PG_PEER_REMOTE,   /* anything else */
};

/* What one entry of libpq's lists host and hostaddr leads to, by its name alone; NULL and "" are entries not given. */
enum pg_peer pg_peer_named(const char *host, const char *hostaddr) OD_MUST;

/* What a socket is connected to; PG_PEER_SOCKET also when it is not connected to anything. */
enum pg_peer pg_peer_of(int fd) OD_MUST;

/* Whether all hosts may be spoken to, by their names: what is not on this host only with sslmode=verify-full. Each is an
 * option of the connection as it is in force (PQconninfo), NULL when not set. The fault names the first that may not. */
bool pg_peer_check_names(const char *hosts, const char *hostaddrs, const char *sslmode, struct fault *fault) OD_MUST;

/* The same for a connection that was begun: pg_peer_check_names with its options, whatever of connection string, service
 * file and environment they came from, and then what its socket is connected to, for a name may lead anywhere. To be
 * asked before each PQconnectPoll. */
bool pg_peer_check(PGconn *conn, struct fault *fault) OD_MUST;

/* For an administrator: how this connection is secured, a phrase; *ret_good: nothing better is to be had. */
const char *pg_peer_describe(PGconn *conn, bool *ret_good) OD_MUST;

#endif
