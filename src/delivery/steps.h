/* SPDX-License-Identifier: ISC
 *
 * The steps of a delivery, in the order of deliver.c; src/README.md shows which of them consist of others. */
#ifndef ONCEDROP_STEPS_H
#define ONCEDROP_STEPS_H

#include "delivery/work.h"

/* server.c: whether the IMAP server can be trusted to open the account that a login names. After targets_collect, before
 * any lock is taken. If one credential opens every account, the server must have been found to honour the account named. If
 * that is unknown, or due for a check (once a day), this delivery checks it with one of its own accounts; the ledger keeps
 * the result for all hosts. A server that was found good remains so if a later check meets trouble.
 *
 * False: nothing may be appended; the recipients have their answer. */
bool server_trusted(struct delivery_work *work) OD_MUST;

/* claim.c: a claim is the copies that this delivery makes, from their COMMIT as `appending` to that of their results. Claims
 * the copies that the plan makes, together with the record and the present answers: ledger_claim. */
void claim_copies(struct delivery_work *work);

/* Settles, which is the commit point, the recipients' copies or, if `sent`, the Sent copy. The answers must be set; a
 * success that could not be recorded is taken back. Returns whether the Sent copy is held now. */
bool claim_settle(struct delivery_work *work, bool sent);

/* Nothing was sent, and nothing will be: gives back what is not settled. */
void claim_abandon(struct delivery_work *work);

/* inboxes.c: the recipients' mailboxes, whose copies are appended at the same time, then settled together. Whether the plan
 * includes any. */
bool inboxes_any(const struct delivery_work *work) OD_MUST;

/* Opens IMAP sessions and begins APPENDs (append_begin), from which nothing is stored before inboxes_deliver; to be
 * called while the database works on the claim. */
void inboxes_begin(struct delivery_work *work);

/* Instead of inboxes_deliver: ends the sessions of what was begun. */
void inboxes_cancel(struct delivery_work *work);

/* After the hold: appends the copies, settles them, and sets the reports. Returns whether the Sent copy is held now. */
bool inboxes_deliver(struct delivery_work *work) OD_MUST;

/* search.c: opens the session for a search that comes later, and remembers a failure. The account must have a session
 * available. */
void search_open(struct delivery_work *work, size_t target);

/* Searches for the message and, where there can be one, for the explanation in its place; in doubt on a new session.
 *
 * SEARCH_FOUND: *made is stored. SEARCH_TROUBLE: it is deferred, with the letter's doubt. SEARCH_ABSENT: it is
 * untouched. */
enum search_result search_copy(struct delivery_work *work, const struct letter *letter, struct made *made) OD_MUST;

/* copy.c: makes the copy of this target, which must be held, as planned, and sets its result: searches for it if necessary,
 * then appends it on the same session. What cannot be stored as it is, is left to fallback_append and quarantine_append. */
void copy_make(struct delivery_work *work, size_t target);

/* The inbox, for mail to a folder named by the detail of its address that cannot be made.
 *
 * The copy stays the folder's: a copy is (message, account, mailbox), and if that changed from one try to the next, both
 * mailboxes could get the message. So what is in the ledger is that the folder's copy is stored, and why it is not there.
 * Since it may be in the inbox, it is searched for there, too, when in doubt; and whoever has a copy of his own to add to
 * the inbox looks for this one first (plan.c), so that there is one.
 *
 * If the result of this target says that its folder cannot be made: searches the inbox if the copy may be there, and appends
 * it there. Replaces the result; without enough time, or while another copy may still come to the inbox, it is deferred. The
 * account's other copies must have been tried. */
void fallback_append(struct delivery_work *work, size_t target);

/* Whether another copy for the account of this target may still come to the mailbox: one of this delivery, whose server did
 * not say what became of it. A search that does not find it yet would prove nothing. */
bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox) OD_MUST;

/* quarantine.c, delivery.rejected = quarantine: in place of a message whose content the server refuses for longer than
 * reject_after, an explanation with the message attached is stored (decode/explanation.h). It is a copy like any other: made
 * within the same claim and hold, and searched for when in doubt.
 *
 * If the result of this target says that the copy is to be quarantined (QUARANTINE_DUE), and there is time, appends the
 * explanation and replaces the result; but first searches for the message, as after any refusal that leaves a doubt.
 * Otherwise, and if that fails, the copy is deferred: never is a message bounced because our own explanation was refused.
 * The copy must be held. */
void quarantine_append(struct delivery_work *work, size_t target);

/* sent.c: makes the Sent copy and settles it, after the inboxes. It never delays an inbox and never bounces a message. If it
 * is not held, or there is no time left, it is put off: its claim is abandoned. first: nothing was appended before; the copy
 * is then tried however little time is left. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

#endif
