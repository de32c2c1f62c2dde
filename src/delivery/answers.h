/* SPDX-License-Identifier: ISC
 *
 * The answers to the recipients. Each recipient has one report, set as soon as the answer is known; part of it is
 * recorded. */
#ifndef ONCEDROP_ANSWERS_H
#define ONCEDROP_ANSWERS_H

#include "delivery/work.h"

/* Gives this answer to all recipients that are routed and have no answer yet. */
void answers_rest(struct delivery_work *work, enum outcome outcome, const char *text);

/* The same: another delivery is delivering the message. */
void answers_busy(struct delivery_work *work);

/* Gives this answer to all recipients that this delivery answers for, replacing any other: their results could not be
 * recorded, for this reason of the ledger's. A delivery whose end is not recorded would stay open for ever, so Postfix must
 * retry it. */
void answers_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);

/* The answers that follow from the plan alone: duplicates, and copies that another delivery is making. */
void answers_of_plan(struct delivery_work *work);

/* The answers of a dry run: what would be done, and why. */
void answers_preview(struct delivery_work *work);

/* The present answers of the recipients that this delivery answers for. */
struct ledger_answers answers_record(const struct delivery_work *work) OD_MUST;
void answers_clear(struct ledger_answers *answers);

/* The result of the Sent copy, for the log. failed: it is given up. */
void answers_log_sent(struct delivery_work *work, const struct report *report, uint32_t uid, bool failed);

/* A Sent copy that still has to be made, for this reason, turns the success of the recipient that answers for it into a
 * deferral, so that Postfix retries that recipient. */
void answers_sent(struct delivery_work *work, enum outcome outcome, const char *text);

#endif
