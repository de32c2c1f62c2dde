/* SPDX-License-Identifier: ISC
 *
 * Works on old records in batches: each is a short transaction that holds the locks of its messages, so that none of
 * them is being delivered meanwhile. A batch never waits for a lock. */
#ifndef ONCEDROP_LEDGER_BATCH_H
#define ONCEDROP_LEDGER_BATCH_H

#include "ledger/ledger_lock.h"

#define LEDGER_BATCH_PARAMS 6 /* the maximum for a condition */

struct ledger_batch {
    int64_t after; /* id of the last message examined; 0 at first; advanced by each batch */
    bool ended;    /* there are no more */
    char *ids; /* array literal of the locked messages (free(3)); NULL: there are none, and no transaction is open */
};

void ledger_batch_clear(struct ledger_batch *batch); /* for OD_CLEANUP */

/* Opens the transaction and locks the next messages that meet the condition, except those that a delivery holds. The
 * caller must check the condition again once they are locked: it may have changed meanwhile.
 *
 * condition  SQL about a message m, with parameters from $1 on
 *
 * False with the fault set: no transaction is open. */
bool ledger_batch_lock(struct ledger *ledger, const char *condition, size_t count, const struct pg_param *params,
                       struct ledger_batch *batch, struct fault *fault) OD_MUST;

/* Runs the statement and commits. NULL with the fault set: nothing was committed. */
PGresult *ledger_batch_commit(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                              struct fault *fault) OD_MUST;

#endif
