/* SPDX-License-Identifier: ISC
 *
 * Changes messages in batches while deliveries go on. A step finds messages, which may take long. A short transaction
 * locks them and their rows, checks the condition again, and changes them; it skips those that a delivery holds. A
 * function that fails has changed nothing, and leaves no transaction open. */
#ifndef ONCEDROP_LEDGER_BATCH_H
#define ONCEDROP_LEDGER_BATCH_H

#include <glib.h>

#include "ledger/ledger_session.h"

#define LEDGER_BATCH 500

struct ledger_candidates {
    int64_t ids[LEDGER_BATCH], keys[LEDGER_BATCH];
    size_t count;
};

struct ledger_batch {
    bool open; /* a transaction is open; it may have locked none */
    int64_t ids[LEDGER_BATCH];
    size_t count;
};

/* Runs a step that finds messages, if lock.method is the one of all hosts. */
struct sql_rows *ledger_batch_find(struct ledger *ledger, enum sql_step find, const struct sql_value *values,
                                   struct error *error) OD_MUST;

/* Locks the candidates that no delivery holds, in a transaction that stays open (none without candidates). The step
 * that changes them must check its condition again. */
bool ledger_batch_lock(struct ledger *ledger, const struct ledger_candidates *candidates, struct ledger_batch *ret,
                       struct error *error) OD_MUST;

struct sql_rows *ledger_batch_commit(struct ledger *ledger, enum sql_step step, const struct sql_value *values,
                                     struct error *error) OD_MUST;

#endif
