/* SPDX-License-Identifier: ISC
 *
 * Counters that never decrease. They cost deliveries nothing: they are computed from the recorded tries and from table
 * total, to which older tries are added before purge deletes them. A try is counted once it cannot change any more. */
#ifndef ONCEDROP_LEDGER_TOTAL_H
#define ONCEDROP_LEDGER_TOTAL_H

#include "ledger/ledger_query.h"

/* Columns: name, label, le, value. Rows are grouped by name, then by label, with le ascending and 0 last:
 *
 * deliveries   label: stored, quarantined, duplicate, deferred, bounced, died. One for each recipient of each try
 * deferrals    label: the outcome of those that were deferred (delivery/outcome.h)
 * searches     how often a mailbox was searched for a copy in doubt
 * phase        label: read, lock, database, imap. Number of tries that took more than the previous le and at most le
 *              milliseconds in this phase; 0: more than any
 * phase_ms     label: as before. The sum in milliseconds
 * delay        as phase: time from Postfix's receipt to the end of the try that stored the message, where known
 * delay_ms     the sum
 *
 * Counters that were never incremented are included, with value 0. NULL with the fault set on trouble. */
struct ledger_table *ledger_totals_ever(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds up what is older than an hour: tries, which purge may then delete; messages and copies, so that ledger_totals
 * (ledger_report.h) need not read them again. False with the fault set on trouble: nothing was changed. */
bool ledger_total_up(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Whether so much was not added up yet that the figures take noticeably longer. False with the fault set on trouble. */
bool ledger_total_is_due(struct ledger *ledger, bool *ret, struct fault *fault) OD_MUST;

#endif
