/* SPDX-License-Identifier: ISC
 *
 * Whether the sender has an account here, and so gets a Sent copy. */
#ifndef ONCEDROP_SENDER_H
#define ONCEDROP_SENDER_H

#include "delivery/delivery.h"

/* Within delivery_run, which has the message decoded: the sender's account and Sent mailbox, as far as route.sent_copy allows:
 *
 *   authenticated  the SASL login (struct delivery's, also when that is nobody; else received_login) leads
 *                  to the same account as the From address
 *   from           the From address leads to an account: by account_query, else when its domain is that of one of the
 *                  recipients (a template alone would give every stranger an account)
 *
 * With only_login there is none: nothing that the caller or the message says of the sender is believed.
 *
 * ROUTE_OK: *ret is set. ROUTE_NONE: no Sent copy is due, or From could not be decoded. ROUTE_TROUBLE: not known (fault set). */
enum route_result sender_route(struct delivery *delivery, struct route *ret, struct fault *fault) OD_MUST;

#endif
