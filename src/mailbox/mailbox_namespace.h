/* SPDX-License-Identifier: ISC
 *
 * Where an account's own mailboxes are among all that the server has (RFC 2342). Settings, routes and
 * the ledger name a mailbox as people write it, "Sent" or "Lists/work"; only here it becomes "INBOX.Sent" or
 * "INBOX.Lists.work". The ledger's name must stay the one that is written: it is part of a copy's identity. */
#ifndef ONCEDROP_MAILBOX_NAMESPACE_H
#define ONCEDROP_MAILBOX_NAMESPACE_H

#include <glib.h>

#include "base/base.h"

struct imap;
struct imap_reply;

/* What the server told. {0}: nothing; names stay as they are. */
struct mailbox_namespaces {
    bool asked;
    char *own;           /* prefix of one's own mailboxes; NULL: not told */
    char separator;      /* of the hierarchy there; 0: none */
    GPtrArray *prefixes; /* of all namespaces, those that are not empty; NULL: none */
};

/* The name to send for one that is not INBOX; both in modified UTF-7; a new string. '/' becomes the server's separator.
 * Then the prefix is added, unless the name begins with it, or with that of another namespace. */
char *mailbox_namespace_apply(const struct mailbox_namespaces *namespaces, const char *name) OD_MUST;

/* The same, after asking the server if that was not done yet: once per session, with one round trip, and never for INBOX.
 * NULL with the fault set if it does not say: the name would perhaps be another mailbox. */
char *mailbox_namespace_name(struct mailbox_namespaces *namespaces, struct imap *imap, const char *name,
                             struct fault *fault) OD_MUST;

/* Takes an untagged response; anything but NAMESPACE is ignored. */
void mailbox_namespace_note(void *context, struct imap_reply *reply);

void mailbox_namespace_clear(struct mailbox_namespaces *namespaces);

#endif
