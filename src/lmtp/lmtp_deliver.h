/* SPDX-License-Identifier: ISC
 *
 * XDELIVER: a delivery handed over by the front, that is, by `oncedrop deliver` on the same host (src/front). Instead of
 * a transaction of LMTP, because its outcomes and texts must be those of `deliver`, and the message must arrive as it
 * was read: not every message on standard input can pass through DATA unchanged.
 *
 *    XDELIVER [NAME=xtext]...       SENDER, RECIPIENT, ORIGINAL, QUEUEID, LOGIN: what command line and environment say;
 *                                   SIZE: bytes to expect; SINCE: base_now_ms() when the delivery began
 *    BDAT n, n bytes                as in RFC 3030, but there is no reply
 *    354 milliseconds               the delivery may take so long from the final mark on
 *    BDAT 0 LAST                    the final mark
 *    250 STATUS D.S.N text          exit status and output of `deliver`
 *
 * XDELIVER and BDAT may be sent together; 354 is sent when XDELIVER has been read, and the final mark only after it. The
 * final mark is sent when the front knows that the message is not cut short. If the connection ends before that, nothing
 * is stored; if it ends afterwards, the delivery stops where it still can, like `deliver` when nobody reads its answer. */
#ifndef ONCEDROP_LMTP_DELIVER_H
#define ONCEDROP_LMTP_DELIVER_H

#include "lmtp/lmtp_message.h"

/* Serves the command; arguments: what follows the verb. The session is then over. */
void lmtp_deliver(struct lmtp *lmtp, const char *arguments);

#endif
