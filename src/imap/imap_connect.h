/* SPDX-License-Identifier: ISC
 *
 * The socket: connected to a server, or to a command that is one. */
#ifndef ONCEDROP_IMAP_CONNECT_H
#define ONCEDROP_IMAP_CONNECT_H

#include <sys/types.h>

#include "base/base.h"
#include "base/config.h"

/* Returns a connected, non-blocking socket (TCP, unix), or -1 with the fault set, which begins with `where`; all
 * addresses of the host share this many milliseconds. *ret_local: the peer is a loopback address or a unix socket. */
int imap_connect(const struct config *config, const char *where, int64_t ms, bool *ret_local,
                 struct fault *fault) OD_MUST;

unsigned imap_connect_port(const struct config *config) OD_MUST;

/* imap_spawn.c: starts imap.command with a socketpair as its standard input and output; returns our end (non-blocking)
 * and *ret_child, or -1 with the fault set. */
int imap_spawn(const struct config *config, const char *account, pid_t *ret_child, struct fault *fault) OD_MUST;

/* Runs imap.password_command for this login, without a shell and with /dev/null as standard input and error, for at most `ms`
 * milliseconds. Returns what it printed, *ret_size bytes and a NUL, for base_free_secret; NULL with the fault set: it cannot be
 * run, did not end in time, failed, or printed more than a password has. */
char *imap_spawn_password(const struct config *config, const char *login, int64_t ms, size_t *ret_size,
                          struct fault *fault) OD_MUST;

/* Waits up to a second for the child to end (its input is closed), then kills it. Sets *child to 0. Returns its status
 * as of waitpid(2); -1 if it had to be killed, or there was none. */
int imap_spawn_reap(pid_t *child);

#endif
