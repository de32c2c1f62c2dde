/* SPDX-License-Identifier: ISC
 *
 * Maps names to the account's namespace (RFC 2342): settings, routes and the ledger say "Lists/work", which becomes
 * "INBOX.Lists.work" only here. The ledger's name is part of a copy's identity. */
#ifndef ONCEDROP_MAILBOX_NAMESPACE_H
#define ONCEDROP_MAILBOX_NAMESPACE_H

#include <glib.h>

#include "base/base.h"

struct imap;
struct imap_reply;

/* {0}: not reported; names stay unchanged. */
struct mailbox_namespaces {
    bool asked;
    char *own;           /* prefix of own mailboxes; NULL: not reported */
    char separator;      /* 0: none */
    GPtrArray *prefixes; /* of all namespaces, if not empty; NULL: none */
};

/* Returns a new string: the name to send; both in modified UTF-7. Not for INBOX. Replaces '/' by the separator, and
 * adds the prefix unless the name has that of any namespace. */
char *mailbox_namespace_apply(const struct mailbox_namespaces *namespaces, const char *name) OD_MUST;

/* Like mailbox_namespace_apply(), but asks the server once per session, and never for INBOX. Returns NULL and sets the
 * error without a response: the name might mean another mailbox. */
char *mailbox_namespace_name(struct mailbox_namespaces *namespaces, struct imap *imap, const char *name,
                             struct error *error) OD_MUST;

/* Reads an untagged NAMESPACE response; ignores others. */
void mailbox_namespace_record(void *context, struct imap_reply *reply);

void mailbox_namespace_clear(struct mailbox_namespaces *namespaces);

#endif
