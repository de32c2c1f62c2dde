/* SPDX-License-Identifier: ISC
 *
 * Sets the recipients' replies (struct report), and passes them to the ledger. */
#ifndef ONCEDROP_REPLY_H
#define ONCEDROP_REPLY_H

#include "delivery/work.h"

/* Sets this report for every routed recipient that has none. */
void reply_rest(struct delivery_work *work, enum outcome outcome, const char *text);

/* Reports that another delivery is delivering the message. */
void reply_busy(struct delivery_work *work);

/* Defers all recipients that go on (plan_goes_on): the ledger could not record their results, and without a retry by
 * Postfix the delivery would stay open for ever. */
void reply_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);

/* Reports what follows from the plan: duplicates, and copies that another delivery is making. */
void reply_by_plan(struct delivery_work *work);

void reply_preview(struct delivery_work *work);

/* Returns the present replies to recipients that go on. */
struct ledger_replies reply_record(const struct delivery_work *work) OD_MUST;
void reply_clear(struct ledger_replies *replies);

/* Sets the Sent copy's result for the log. failed: not retried. */
void reply_log_sent(struct delivery_work *work, const struct report *report, uint32_t uid, bool failed);

/* Defers the owner of the Sent copy, if it succeeded: Postfix retries until that copy is made. */
void reply_sent(struct delivery_work *work, enum outcome outcome, const char *text);

#endif
