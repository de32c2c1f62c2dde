/* SPDX-License-Identifier: ISC
 *
 * What the recipients are told: each has one report, set where the answer is found, and what is recorded of it. */
#ifndef ONCEDROP_ANSWERS_H
#define ONCEDROP_ANSWERS_H

#include "delivery/work.h"

/* Gives every recipient that leads somewhere and has no answer yet this one. */
void answers_rest(struct delivery_work *work, enum outcome outcome, const char *text);

/* The same, that another delivery is at the message. */
void answers_busy(struct delivery_work *work);

/* The same, of what the ledger could not do: busy, or trouble with its fault. */
void answers_ledger(struct delivery_work *work, enum ledger_result result, const struct fault *fault);

/* Gives every recipient that this delivery answers for this one, whatever it was: what was found could not be recorded, and
 * a delivery whose end is not recorded would stay open for ever. So it comes again. */
void answers_unrecorded(struct delivery_work *work, const char *text);

/* Those that the plan has already: duplicates, and what another delivery is at. */
void answers_of_plan(struct delivery_work *work);

/* Those of a dry run: what would be done, and why. */
void answers_preview(struct delivery_work *work);

/* The answers as they stand, of the recipients that this delivery answers for. */
struct ledger_answers answers_record(const struct delivery_work *work) OD_MUST;
void answers_clear(struct ledger_answers *answers);

/* The recipient who has to come again if the Sent copy is not made: its owner, or, when that one was refused for good,
 * another that was stored. LEDGER_OTHER: none of this delivery. */
size_t answers_for_sent(const struct delivery_work *work) OD_MUST;

#endif
