/* SPDX-License-Identifier: ISC
 *
 * Messages changed in batches while deliveries go on: each batch finds messages by a condition, which may take long, and only
 * reads; then a short transaction takes their locks, so that none of them is being delivered meanwhile, locks their rows,
 * checks the condition again, and changes them. A batch never waits for a lock: what a delivery holds is left out.
 *
 * All return false or NULL with the fault set on trouble: then no transaction is open, and the batch has changed nothing. */
#ifndef ONCEDROP_LEDGER_BATCH_H
#define ONCEDROP_LEDGER_BATCH_H

#include <glib.h>

#include "ledger/ledger_session.h"

#define LEDGER_BATCH 500 /* messages */

/* Messages found, not locked yet. */
struct ledger_candidates {
    int64_t ids[LEDGER_BATCH], keys[LEDGER_BATCH];
    size_t count;
};

/* Messages that are locked. */
struct ledger_batch {
    bool open; /* the transaction that has locked them; there may be none of them */
    int64_t ids[LEDGER_BATCH];
    size_t count;
};

/* Runs a step that finds messages, if lock.method is the one of all hosts. */
struct sql_rows *ledger_batch_find(struct ledger *ledger, enum sql_step find, const struct sql_value *values,
                                   struct fault *fault) OD_MUST;

/* Locks the candidates in a transaction that stays open, except those that a delivery holds. The step that changes them must
 * check its condition again: it may have changed meanwhile. Not open if there are no candidates. */
bool ledger_batch_lock(struct ledger *ledger, const struct ledger_candidates *candidates, struct ledger_batch *ret,
                       struct fault *fault) OD_MUST;

/* Runs the step in that transaction, and commits. */
struct sql_rows *ledger_batch_commit(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                     struct fault *fault) OD_MUST;

#endif
