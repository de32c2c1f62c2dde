/* SPDX-License-Identifier: ISC
 *
 * Deletes old records in batches (ledger_batch.h). Before that, unfinished messages are abandoned (ledger_expire.h) and
 * counts are added up (ledger_total.h). */
#ifndef ONCEDROP_LEDGER_PURGE_H
#define ONCEDROP_LEDGER_PURGE_H

#include "ledger/ledger.h"

#define LEDGER_PURGE_YOUNGEST_MS (7 * 24 * INT64_C(3600000)) /* Postfix retries for 5 days */

struct ledger_purge {
    int64_t older_than_ms; /* at least LEDGER_PURGE_YOUNGEST_MS */
    int64_t after;         /* last message of the previous batch; 0 at first; advanced by each batch */
    int64_t deleted;       /* increased by each batch */
    bool ended;            /* there are no more */
};

/* How many messages would be deleted once record.abandon_after is applied. False with the fault set on trouble. */
bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault) OD_MUST;

/* Deletes the next batch of messages that are finished, and that arrived and were last touched long enough ago.
 * Messages that are just being delivered are left for the next time. False with the fault set on trouble: nothing was
 * deleted. */
bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault) OD_MUST;

#endif
