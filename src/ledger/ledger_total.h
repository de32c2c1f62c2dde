/* SPDX-License-Identifier: ISC
 *
 * Counts that never fall. Deliveries write nothing for them: they are made of the tries that are recorded anyway, and of
 * what purge has added up in table total before it removes anything. A try counts once nothing about it can change. */
#ifndef ONCEDROP_LEDGER_TOTAL_H
#define ONCEDROP_LEDGER_TOTAL_H

#include "ledger/ledger_query.h"

/* Columns: name, label, le, value. Those of one name stand together, in them those of one label, le rising, 0 last:
 *
 *   deliveries   label: stored, duplicate, deferred, bounced, died. One for each recipient of each try
 *   deferrals    label: the outcome of those that are deferred (delivery/outcome.h)
 *   searches     how often a mailbox was searched for a copy in doubt
 *   phase        label: read, lock, database, imap. How many tries took more than the le before and at most le milliseconds
 *                in this phase; 0: more than any
 *   phase_ms     label: as before. Their sum in milliseconds
 *   delay        as phase, from Postfix's receipt to the end of the try that stored it, where that is known
 *   delay_ms     their sum
 *
 * What was never counted is there, as 0. NULL with the fault set on trouble. */
struct ledger_table *ledger_totals_ever(struct ledger *ledger, struct fault *fault) OD_MUST;

enum { TOTAL_NAME, TOTAL_LABEL, TOTAL_LE, TOTAL_VALUE };

/* Adds up what is older than a day: purge may then remove it. False with the fault set on trouble: nothing has happened. */
bool ledger_total_up(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
