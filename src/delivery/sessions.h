/* SPDX-License-Identifier: ISC
 *
 * A small, bounded cache of IMAP sessions by account: they outlive a message. */
#ifndef ONCEDROP_SESSIONS_H
#define ONCEDROP_SESSIONS_H

#include "base/config.h"
#include "mailbox/mailbox.h"

#define SESSIONS_FEW 8   /* for a delivery, and for a process that may be one of very many */
#define SESSIONS_MANY 32 /* for a worker of replay and resume: there are few, and they come back to each account */

struct sessions;

/* most: how many it keeps at a time. */
struct sessions *sessions_new(const struct config *config, size_t most) OD_MUST;
void sessions_free(struct sessions **sessions); /* ends them all */

/* The account's session: a kept one that still answers, or a new one, in place of the longest unused when the cache is
 * full. Belongs to the cache. NULL with the fault set when there is none to be had. */
struct mailbox *sessions_get(struct sessions *sessions, const char *account, struct fault *fault) OD_MUST;

/* Whether the server was found to be one that may be given mail (delivery/server.h), within the last hour. */
bool sessions_trusted(const struct sessions *sessions) OD_MUST;
void sessions_trust(struct sessions *sessions);

/* Ends the account's session, if there is one: after anything but a clean answer. */
void sessions_drop(struct sessions *sessions, const char *account);

#endif
