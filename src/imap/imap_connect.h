/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_IMAP_CONNECT_H
#define ONCEDROP_IMAP_CONNECT_H

#include <sys/types.h>

#include "base/base.h"
#include "base/config.h"

/* Returns a connected, non-blocking socket (TCP or unix); -1 with the error set, which begins with `where`. ms: for all
 * addresses together. *ret_local: the peer is a loopback address or unix socket. */
int imap_connect(const struct config *config, const char *peer_name, int64_t ms, bool *ret_local,
                 struct error *error) OD_MUST;

unsigned imap_connect_port(const struct config *config) OD_MUST;

/* imap_spawn.c: starts imap.command with a socketpair as standard input and output. Returns our end (non-blocking); -1
 * with the error set. */
int imap_spawn(const struct config *config, const char *account, pid_t *ret_child, struct error *error) OD_MUST;

/* Runs imap.password_command for this login, for at most `ms` milliseconds. Returns its output, *ret_size bytes and a
 * NUL, for base_free_secret(). NULL with the error set: it cannot be run, timed out, failed, or printed too much. */
char *imap_spawn_password(const struct config *config, const char *login, int64_t ms, size_t *ret_size,
                          struct error *error) OD_MUST;

/* Waits up to a second for the child to exit, then kills it. Sets *child to 0. Returns the status (waitpid(2)); -1:
 * killed, or no child. */
int imap_spawn_reap(pid_t *child);

#endif
