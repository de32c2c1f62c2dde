/* SPDX-License-Identifier: ISC
 *
 * The Sent copy: whose it is, how it is made behind the inboxes, and who has to come again for it. It holds up nobody's
 * inbox and never bounces a message. */
#ifndef ONCEDROP_SENT_H
#define ONCEDROP_SENT_H

#include "delivery/work.h"

/* Within delivery_run, which has the message decoded: the sender's account and Sent mailbox, as far as route.sent_copy
 * allows:
 *
 *   authenticated  the SASL login (struct delivery's, also when that is nobody; else received_login) leads
 *                  to the same account as the From address
 *   from           the From address leads to an account: by account_query, else when its domain is that of one of the
 *                  recipients (a template alone would give every stranger an account)
 *
 * With only_login there is none: nothing that the caller or the message says of the sender is believed.
 *
 * ROUTE_OK: *ret is set. ROUTE_NONE: no Sent copy is due, or From could not be decoded. ROUTE_TROUBLE: not known (fault
 * set). */
enum route_result sent_route(const struct delivery *delivery, struct route *ret, struct fault *fault) OD_MUST;

/* Whether the plan has it made. */
bool sent_is_due(const struct delivery_work *work) OD_MUST;

/* A Sent copy that still has to be made keeps a delivery from succeeding, so that Postfix comes again with the recipient
 * that answers for it. */
void sent_report(struct delivery_work *work, enum outcome outcome, const char *text);

/* Appends the copy and settles it. What is not held, or has no time left, is put off: its claim is abandoned. first: nothing
 * was appended before it; then it is tried whatever time is left. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

#endif
