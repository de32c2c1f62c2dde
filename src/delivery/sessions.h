/* SPDX-License-Identifier: ISC
 *
 * The IMAP sessions of a process, by account: kept from message to message, at most imap.sessions of them. A session
 * unused for imap.idle is not used again. Where one login opens everybody's mailboxes (config_is_shared), a few sessions
 * serve all accounts; what is said below of the account's session then refers to the one that serves it. */
#ifndef ONCEDROP_SESSIONS_H
#define ONCEDROP_SESSIONS_H

#include "base/config.h"
#include "mailbox/mailbox.h"

struct sessions;

/* processes: how many share imap.sessions; each may keep one at least. */
struct sessions *sessions_new(const struct config *config, size_t processes) OD_MUST;
void sessions_free(struct sessions **sessions); /* ends all sessions */

/* A delivery begins: sessions opened from here on are new to it. */
void sessions_begin(struct sessions *sessions);

/* Whether sessions_take can give out a session of the account: its own is not given out already, and there is room for
 * another. */
bool sessions_available(struct sessions *sessions, const char *account) OD_MUST;

/* Whether a fault of sessions_take may be due to the sessions given out at present: it may work when they are given back. */
bool sessions_in_the_way(const struct sessions *sessions, const struct fault *fault) OD_MUST;

enum sessions_age {
    SESSIONS_KEPT, /* one kept from an earlier delivery will do */
    SESSIONS_NEW,  /* it must be new to this delivery */
};

/* Gives out the account's session until sessions_give_back or sessions_drop: a kept one that the server has not closed
 * as far as is known, or a new one, which replaces the one that is unused longest if there are enough. If the server may
 * have refused because of the number of sessions, unused ones are closed, half of them and then the others, to make room
 * for it. sessions_available must be true. Owned by the cache.
 *
 * limit_ms    for opening a new one (mailbox_open); 0: none
 * *ret_kept   it is from an earlier delivery: the server may have closed it in the meantime
 *
 * NULL with the fault set if no session can be opened. */
struct mailbox *sessions_take(struct sessions *sessions, const char *account, enum sessions_age age, int64_t limit_ms,
                              bool *ret_kept, struct fault *fault) OD_MUST;

/* The session may be used again; it is closed if it has no connection any more. */
void sessions_give_back(struct sessions *sessions, const char *account);

/* Ends the account's session, if there is one: to be called after anything but a clean answer, also in the middle of an
 * APPEND. */
void sessions_drop(struct sessions *sessions, const char *account);

/* For a process that has nothing else to do: ends one session that is unused for imap.idle. Returns when to call it
 * again, by base_now_ms(); INT64_MAX: nothing to do until after the next delivery. */
int64_t sessions_expire(struct sessions *sessions) OD_MUST;

/* Whether the server was found trustworthy (delivery/server.h) within the last hour. */
bool sessions_trusted(const struct sessions *sessions) OD_MUST;
void sessions_trust(struct sessions *sessions);

#endif
