/* SPDX-License-Identifier: ISC
 *
 * What is known of a recipient before there is a message. */
#ifndef ONCEDROP_LMTP_RECIPIENT_H
#define ONCEDROP_LMTP_RECIPIENT_H

#include "lmtp/lmtp.h"

/* lmtp_objection (lmtp_transaction.h); context: struct lmtp. Objects if there is no account, or if the IMAP server refused its
 * login and it is too early to try again. So a client that sends no message, as Postfix when it verifies an address, learns that.
 * Tries no login. If the client has sent its next command already (RFC 2920), there is no objection: the delivery finds out the
 * same, and may find that the message is in the mailbox already. */
char *lmtp_recipient_objection(void *context, const struct address *address) OD_MUST;

#endif
