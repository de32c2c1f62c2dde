/* SPDX-License-Identifier: ISC
 *
 * The session beside those of the ledgers (postgres.c), and the rows as it sees them (warden_rows.c). */
#ifndef ONCEDROP_DIFFERENTIAL_WARDEN_H
#define ONCEDROP_DIFFERENTIAL_WARDEN_H

#include <libpq-fe.h>

#include "base/base.h"

/* One statement: $1 is the number, $2 the identity or digest (or NULL: there is no $2). If it fails, the program
 * ends. */
PGresult *warden_ask(const char *sql, int64_t number, const unsigned char *hash) OD_MUST;

/* The same, for a statement whose only value is a bool. */
bool warden_whether(const char *sql, int64_t number) OD_MUST;
void warden_command(const char *sql);

/* Waits until this session has answered, or waits for a lock (true). */
bool warden_waits_for_lock(PGconn *conn);

/* Ends a session, if it still exists, and waits until its process and with it the connection are gone. */
void warden_end_session(int pid);

/* A new history: ground_pass applies to the messages that are read in it. */
void warden_begin(void);

#endif
