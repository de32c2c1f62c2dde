/* SPDX-License-Identifier: ISC
 *
 * The IMAP sessions of a process, kept from message to message: at most imap.sessions of them, one for each account. The
 * account's server is that of `config` (config_server). A delivery takes a session and gives it back, or drops it. One that
 * was not used for imap.idle is not used again. Where one login opens everybody's mailboxes (config_is_shared), up to four
 * sessions serve all accounts; "the account's session" is then the one that serves it. */
#ifndef ONCEDROP_SESSIONS_H
#define ONCEDROP_SESSIONS_H

#include "base/config.h"
#include "delivery/refusals.h"
#include "mailbox/mailbox.h"

struct sessions;

/* Room for as many as sessions_limit says. processes: how many share imap.sessions. */
struct sessions *sessions_new(const struct config *config, size_t processes) OD_MUST;
void sessions_free(struct sessions **sessions); /* ends all sessions */

/* A delivery begins: sessions opened from here on are new to it. */
void sessions_begin(struct sessions *sessions);

/* Whether the account's session can be taken: nobody has it, or there is none, but room for it. */
bool sessions_available(const struct sessions *sessions, const struct config *config, const char *account) OD_MUST;

/* Whether the account's session is open and nobody has it, as far as is known without asking the server. */
bool sessions_open(const struct sessions *sessions, const struct config *config, const char *account) OD_MUST;

/* Whether sessions_take may have failed (fault) because other sessions are taken: it may work when they are given back. */
bool sessions_in_the_way(const struct sessions *sessions, const struct fault *fault) OD_MUST;

enum sessions_age {
    SESSIONS_KEPT, /* one kept from an earlier delivery will do */
    SESSIONS_NEW,  /* it must be new to this delivery */
};

/* Takes the account's session, until sessions_give_back or sessions_drop; it must be available. If none is kept, or the
 * server has closed it, a new one is opened; that ends the one unused longest if there is no room. If the server refuses
 * a new one, and the reason may be that there are too many, half of the unused ones with this server are ended, and then the
 * others. If this process has too many open files, that is done with those of all servers. If an earlier login of the account
 * was refused, it may be too early to try another (refusals.h): then this fails.
 *
 * limit_ms    for opening a new one (mailbox_open); 0: none
 * *ret_kept   it is from an earlier delivery: the server may have closed it without our knowing
 *
 * The session still belongs to `sessions`. NULL with the fault set if none can be opened. */
struct mailbox *sessions_take(struct sessions *sessions, const struct config *config, const char *account,
                              enum sessions_age age, int64_t limit_ms, bool *ret_kept, struct fault *fault) OD_MUST;

/* The session may be used again; it ends here if it has no connection any more. */
void sessions_give_back(struct sessions *sessions, const struct config *config, const char *account);

/* Ends the account's session, if there is one: for when its state is not known, as in the middle of an APPEND. */
void sessions_drop(struct sessions *sessions, const struct config *config, const char *account);

/* Where there are several servers: whether this one was so silent when a session was to be opened that it is not asked again
 * yet, so that the mail of the others does not wait; then the fault is set. */
bool sessions_quiet(const struct sessions *sessions, const struct config *config, struct fault *fault) OD_MUST;

/* For a process that has nothing else to do: ends one session that is unused for imap.idle. Returns when to call it
 * again, by base_now_ms(); INT64_MAX: nothing to do until after the next delivery. */
int64_t sessions_expire(struct sessions *sessions) OD_MUST;

/* The accounts whose login was refused, of all servers; they live as long as `sessions`. */
struct refusals *sessions_refusals(struct sessions *sessions) OD_MUST;

/* Whether the server was found trustworthy (server.h) within the last hour. */
bool sessions_trusted(const struct sessions *sessions, const struct config *config) OD_MUST;
void sessions_trust(struct sessions *sessions, const struct config *config);

#endif
