/* SPDX-License-Identifier: ISC
 *
 * XDELIVER: `oncedrop deliver` hands over a delivery on the same host (src/front). LMTP's own commands would change
 * replies and some messages.
 *
 *    XDELIVER [NAME=xtext]...   SENDER, RECIPIENT, ORIGINAL, QUEUEID, LOGIN: of command line and environment;
 *                               SIZE: expected bytes; SINCE: base_now_ms() at the start
 *    BDAT n, n bytes            like RFC 3030, without a reply
 *    354 milliseconds           limit of the delivery after the final mark
 *    BDAT 0 LAST                the final mark: the message is complete
 *    250 STATUS D.S.N text      exit status and output of `deliver`
 *
 * The front pipelines all before the final mark, which waits for 354, the reply to XDELIVER. If the peer closes before
 * that mark, nothing is stored. If it closes afterwards, the delivery stops where it still can. */
#ifndef ONCEDROP_LMTP_DELIVER_H
#define ONCEDROP_LMTP_DELIVER_H

#include "lmtp/lmtp_message.h"

/* arguments: after the verb. Afterwards the session is over. */
void lmtp_deliver(struct lmtp *lmtp, const char *arguments);

#endif
