/* SPDX-License-Identifier: ISC
 *
 * What is known of a recipient before there is a message. */
#ifndef ONCEDROP_LMTP_RECIPIENT_H
#define ONCEDROP_LMTP_RECIPIENT_H

#include "lmtp/lmtp.h"

/* lmtp_objection (lmtp_transaction.h); context: struct lmtp. There is no account, or the IMAP server refused its login and it is
 * too early to try again. So a client that only asks, as Postfix does to verify an address, learns what it can. No login is
 * tried. If the client goes on to the message without waiting (RFC 2920), there is no objection: the delivery finds out the
 * same, and knows whether the message is in the mailbox already. */
char *lmtp_recipient_objection(void *context, const struct address *address) OD_MUST;

#endif
