/* SPDX-License-Identifier: ISC
 *
 * A small cache of IMAP sessions by account, which outlives a message. */
#ifndef ONCEDROP_SESSIONS_H
#define ONCEDROP_SESSIONS_H

#include "base/config.h"
#include "mailbox/mailbox.h"

#define SESSIONS_FEW 8   /* for a delivery process, of which there may be very many */
#define SESSIONS_MANY 32 /* for a worker of replay and resume: there are few, and they return to the same accounts */

struct sessions;

/* most: the maximum number of sessions. */
struct sessions *sessions_new(const struct config *config, size_t most) OD_MUST;
void sessions_free(struct sessions **sessions); /* ends all sessions */

/* The account's session: a kept one that still answers, or a new one, replacing the least recently used if the cache is
 * full. Owned by the cache. NULL with the fault set if no session can be opened. */
struct mailbox *sessions_get(struct sessions *sessions, const char *account, struct fault *fault) OD_MUST;

/* Whether the server was found trustworthy (delivery/server.h) within the last hour. */
bool sessions_trusted(const struct sessions *sessions) OD_MUST;
void sessions_trust(struct sessions *sessions);

/* Ends the account's session, if there is one: to be called after anything but a clean answer. */
void sessions_drop(struct sessions *sessions, const char *account);

#endif
