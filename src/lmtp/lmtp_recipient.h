/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LMTP_RECIPIENT_H
#define ONCEDROP_LMTP_RECIPIENT_H

#include "lmtp/lmtp.h"

/* An lmtp_objection; context: struct lmtp. Objects without an account, or during its login backoff, so that Postfix's
 * address verification learns of it. Not if the next command is pipelined (RFC 2920): the delivery may find the message
 * stored. */
char *lmtp_recipient_objection(void *context, const struct address *address) OD_MUST;

#endif
