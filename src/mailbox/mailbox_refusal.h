/* SPDX-License-Identifier: ISC
 *
 * The meaning of a refused command. */
#ifndef ONCEDROP_MAILBOX_REFUSAL_H
#define ONCEDROP_MAILBOX_REFUSAL_H

#include "imap/imap_reply.h"
#include "mailbox/mailbox.h"

/* What a tagged NO or BAD to APPEND means, before or after the literal. */
enum append_result mailbox_refusal(const struct imap_reply *reply, bool literal_sent) OD_MUST;

/* Whether a refusal may mean that the mailbox does not exist. It may mean trouble as well: only LIST tells. */
bool mailbox_refusal_perhaps_missing(const struct imap_reply *reply) OD_MUST;

/* Whether a refused CREATE, or APPEND before the literal, will be refused for ever: because of the name, or our rights. */
bool mailbox_refusal_is_never(const struct imap_reply *reply) OD_MUST;

#endif
