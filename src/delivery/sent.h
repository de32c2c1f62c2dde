/* SPDX-License-Identifier: ISC
 *
 * The Sent copy: who gets it, how it is made after the inboxes, and who must be retried for it. It never delays an
 * inbox and never bounces a message. */
#ifndef ONCEDROP_SENT_H
#define ONCEDROP_SENT_H

#include "delivery/work.h"

/* Within delivery_run, once the message is decoded: finds the sender's account and Sent mailbox, as far as
 * route.sent_copy allows:
 *
 * authenticated  the SASL login (from struct delivery, even if that says there was none; else received_login) maps to
 *                the same account as the From address
 * from           the From address maps to an account: by account_query, or else its domain is that of one of the
 *                recipients (a template alone would map any stranger to an account)
 *
 * With only_login there is no Sent copy: nothing that the caller or the message says about the sender can be trusted.
 *
 * ROUTE_OK: *ret is set. ROUTE_NONE: no Sent copy is due, or From could not be decoded. ROUTE_TROUBLE: unknown (fault
 * set). */
enum route_result sent_route(const struct delivery *delivery, struct route *ret, struct fault *fault) OD_MUST;

/* Whether the plan includes making it. */
bool sent_is_due(const struct delivery_work *work) OD_MUST;

/* A Sent copy that still has to be made turns the success of the recipient that answers for it into a deferral, so that
 * Postfix retries that recipient. */
void sent_report(struct delivery_work *work, enum outcome outcome, const char *text);

/* Appends the copy and settles it. If it is not held, or there is no time left, it is put off: its claim is abandoned.
 * first: nothing was appended before; the copy is then tried however little time is left. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

#endif
