/* SPDX-License-Identifier: ISC
 *
 * Old records go, in batches (ledger_batch.h). Before that what is unfinished is abandoned (ledger_expire.h), and what is
 * counted in them is added up (ledger_total.h). */
#ifndef ONCEDROP_LEDGER_PURGE_H
#define ONCEDROP_LEDGER_PURGE_H

#include "ledger/ledger.h"

#define LEDGER_PURGE_YOUNGEST_MS (7 * 24 * INT64_C(3600000)) /* Postfix comes again for 5 days */

struct ledger_purge {
    int64_t older_than_ms; /* at least LEDGER_PURGE_YOUNGEST_MS */
    int64_t after;         /* last message of the batch before; 0 at first; moved on by each batch */
    int64_t deleted;       /* raised by each batch */
    bool ended;            /* there are no more */
};

/* How many messages would go, once those that record.abandon_after concerns are abandoned. False with the fault set on
 * trouble. */
bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault) OD_MUST;

/* Deletes the next batch of messages that are finished, arrived, and were last touched, so long ago. What is held by a
 * delivery at that moment is left for the next time. False with the fault set on trouble: the batch has not happened. */
bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault) OD_MUST;

#endif
