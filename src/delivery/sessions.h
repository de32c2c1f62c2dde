/* SPDX-License-Identifier: ISC
 *
 * A small, bounded cache of IMAP sessions by account: they outlive a message. */
#ifndef ONCEDROP_SESSIONS_H
#define ONCEDROP_SESSIONS_H

#include "base/config.h"
#include "mailbox/mailbox.h"

#define SESSIONS_MAX 8

struct sessions;

struct sessions *sessions_new(const struct config *config) OD_MUST;
void sessions_free(struct sessions **sessions);     /* ends them all */

/* The account's session: a kept one that still answers, or a new one, in place of the longest unused when the cache is
 * full. Belongs to the cache. NULL with the fault set when there is none to be had. */
struct mailbox *sessions_get(struct sessions *sessions, const char *account, struct fault *fault) OD_MUST;

/* Ends the account's session, if there is one: after anything but a clean answer. */
void sessions_drop(struct sessions *sessions, const char *account);

#endif
