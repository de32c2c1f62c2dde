/* SPDX-License-Identifier: ISC
 *
 * The circuit breaker of an IMAP server. The pool (sessions.c) asks before it opens a session, and reports the result.
 *
 * Mail for other servers must not wait for one that timed out. So a timeout opens the breaker: the server is not tried
 * for a while, and then with a short timeout, which doubles after each failure. A refusal may concern one account only:
 * see login_backoff.h. */
#ifndef ONCEDROP_BREAKER_H
#define ONCEDROP_BREAKER_H

#include "delivery/login_backoff.h"

/* Times by base_now_ms(). */
struct breaker {
    const struct config *config;  /* of the server */
    struct refusals *refusals;    /* of all servers */
    bool alone;                   /* there is no other server: never open */
    struct _GHashTable *failures; /* reasons, by account, "": all accounts; NULL: not kept */
    int64_t tried_at;             /* the last session */
    int64_t logins_until;         /* LOGIN_BACKOFF_UNCERTAIN_MS after the last login */
    int64_t open_until;
    int64_t limit_ms;                /* timeout after the breaker was open; 0: none */
    int64_t identity_verified_until; /* server.c */
};

void breaker_keep_failures(struct breaker *breaker);
void breaker_clear(struct breaker *breaker);

/* Returns true, with the error set, while the server is not tried. */
bool breaker_is_open(const struct breaker *breaker, struct error *error) OD_MUST;

/* Returns true if the account's session may be opened now, and limits its timeout (mailbox_open); else sets the error. */
bool breaker_admits(struct breaker *breaker, const char *account, int64_t *limit_ms, struct error *error) OD_MUST;

/* After breaker_admits(): the result. no_refusal: sessions in use may have caused the failure. */
void breaker_succeeded(struct breaker *breaker, const char *account);
void breaker_failed(struct breaker *breaker, const char *account, bool no_refusal, const struct error *error);

#endif
