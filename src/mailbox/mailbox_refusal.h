/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_MAILBOX_REFUSAL_H
#define ONCEDROP_MAILBOX_REFUSAL_H

#include "imap/imap_reply.h"
#include "mailbox/mailbox.h"

/* Returns the meaning of a NO or BAD to APPEND. */
enum append_result mailbox_refusal(const struct imap_reply *reply, bool literal_sent) OD_MUST;

/* Returns true if the mailbox may not exist; only LIST distinguishes that from a temporary failure. */
bool mailbox_refusal_maybe_missing(const struct imap_reply *reply) OD_MUST;

/* Returns true if a refusal of CREATE, or of APPEND before the literal, is permanent: name or rights. */
bool mailbox_refusal_is_permanent(const struct imap_reply *reply) OD_MUST;

#endif
