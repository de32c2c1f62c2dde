/* SPDX-License-Identifier: ISC
 *
 * The Sent copy: who gets it, how it is made after the inboxes, and who must be retried for it. It never delays an
 * inbox and never bounces a message. */
#ifndef ONCEDROP_SENT_H
#define ONCEDROP_SENT_H

#include "delivery/append.h"

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

/* While the inboxes are filled (sent_ahead.c): the session of the Sent copy is opened, once every inbox has one; after the
 * hold, which is that of all copies, its mailbox is searched, unless the copy is in doubt, and the copy appended. None of
 * this waits for that mailbox's server, and whatever fails, or takes longer than the inboxes, is left to sent_deliver. */

/* After inboxes_begin. */
void sent_begin(struct delivery_work *work);

/* Waits until the database has answered the claim, or long enough; meanwhile goes on with what was begun. */
void sent_go_on_until_claimed(struct delivery_work *work);

/* The same until the server of `mailbox`, which owes an answer, says something; nothing happens if it is NULL. */
void sent_go_on_until(struct delivery_work *work, const struct mailbox *mailbox);

/* What is done from now on is done under the lock. */
void sent_held(struct delivery_work *work);

/* Once the inboxes have their answers: whether this copy has its own, or gets it within a moment. */
bool sent_answered(struct delivery_work *work) OD_MUST;

/* Whether its message was sent, and is not answered yet: it may be stored then. */
bool sent_is_sent(const struct delivery_work *work) OD_MUST;

/* Gives the session back that is being opened: whoever takes it waits for the rest. */
void sent_end_opening(struct delivery_work *work);

/* Ends what was begun. */
void sent_cancel(struct delivery_work *work);

/* If the copy has its answer together with the inboxes (sent_answered): takes it, for them to settle it with theirs;
 * sent_deliver then has nothing to do. False: not yet. */
bool sent_take(struct delivery_work *work, struct made *ret) OD_MUST;

/* Appends the copy and settles it. If it is not held, or there is no time left, it is put off: its claim is abandoned;
 * but not once its message was sent.
 * first: nothing was appended before; the copy is then tried however little time is left. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

#endif
