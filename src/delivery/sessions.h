/* SPDX-License-Identifier: ISC
 *
 * The pool of IMAP sessions of a process, reused from message to message: one per account, at most imap.sessions.
 * `config` is that of the account's server. Sessions unused for imap.idle_timeout are not reused. If one login opens all
 * mailboxes (config_is_shared), up to four sessions serve all accounts; "the account's session" is the one that serves
 * it. */
#ifndef ONCEDROP_SESSIONS_H
#define ONCEDROP_SESSIONS_H

#include "base/config.h"
#include "delivery/breaker.h"
#include "mailbox/mailbox.h"

struct sessions;

/* Returns a pool; `processes` share imap.sessions (sessions_limit). A worker of the service passes 1: its limit is its
 * own. */
struct sessions *sessions_new(const struct config *config, size_t processes) OD_MUST;
void sessions_free(struct sessions **sessions);

/* For commands that make many searches: a login that fails is not tried again, nor any other of that server if it is
 * unreachable or has one login for all accounts. */
void sessions_keep_failures(struct sessions *sessions);

/* Begins a delivery: sessions opened from now on are new to it. */
void sessions_begin(struct sessions *sessions);

/* Returns true if the account's session is free, or can be opened. */
bool sessions_available(const struct sessions *sessions, const struct config *config, const char *account) OD_MUST;

/* Returns true if the account's session is open and free; does not ask the server. */
bool sessions_is_open(const struct sessions *sessions, const struct config *config, const char *account) OD_MUST;

/* Returns true if sessions_acquire() may have failed because other sessions are in use: retry after their release. */
bool sessions_none_free(const struct sessions *sessions, const struct error *error) OD_MUST;

enum sessions_age {
    SESSIONS_REUSED, /* a reused one will do */
    SESSIONS_NEW,    /* it must be new to this delivery */
};

/* Acquires the account's session, until sessions_release() or sessions_discard(). Opens one if none can be reused; in a
 * full pool, in place of the one unused longest. If the server has too many sessions, or this process too many open
 * files, closes half of the unused ones and tries again, until none is left: MAILBOX_TOO_MANY_SESSIONS, MAILBOX_LIMIT or
 * MAILBOX_NO_FILES. Fails if the breaker does not admit it.
 * Precondition: sessions_available().
 *
 * limit_ms   timeout for opening (mailbox_open); 0: none
 * *ret_reused  from an earlier delivery: the server may have closed it
 *
 * The session remains the pool's. Returns NULL with the error set on failure. */
struct mailbox *sessions_acquire(struct sessions *sessions, const struct config *config, const char *account,
                                 enum sessions_age age, int64_t limit_ms, bool *ret_reused,
                                 struct error *error) OD_MUST;

/* Releases the session; closes it if its connection is lost. */
void sessions_release(struct sessions *sessions, const struct config *config, const char *account);

/* Closes the account's session, if any: for an unknown state, as amid an APPEND. */
void sessions_discard(struct sessions *sessions, const struct config *config, const char *account);

/* Returns what is known of the server. */
struct breaker *sessions_breaker(struct sessions *sessions, const struct config *config) OD_MUST;

/* For an idle process: closes one session unused for imap.idle_timeout. Returns when to call again (base_now_ms); INT64_MAX:
 * after the next delivery. */
int64_t sessions_expire(struct sessions *sessions) OD_MUST;

struct refusals *sessions_login_backoff(struct sessions *sessions) OD_MUST;

/* sessions_limit.c */

/* Returns a process's share of imap.sessions, at least 1, limited by its descriptors; the server that needs most counts
 * (mailbox_descriptors). Raises RLIMIT_NOFILE if necessary and allowed. */
size_t sessions_limit(const struct config *config, size_t processes) OD_MUST;

/* Returns true if one process can have imap.sessions; else sets *ret_limit to sessions_limit(), and the error. */
bool sessions_suffice(const struct config *config, size_t *ret_limit, struct error *error) OD_MUST;

#endif
