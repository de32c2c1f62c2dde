/* SPDX-License-Identifier: ISC
 *
 * Work on old records, in batches: each a short transaction that holds the locks of its messages, so that no delivery of
 * them is under way meanwhile, and none waits. */
#ifndef ONCEDROP_LEDGER_BATCH_H
#define ONCEDROP_LEDGER_BATCH_H

#include "ledger/ledger_session.h"

#define LEDGER_BATCH_PARAMS 6 /* that a condition may have */

struct ledger_batch {
    int64_t after; /* number of the last message that was looked at; 0 at first; moved on by each batch */
    bool ended;    /* there are no more */
    char *ids;     /* array literal of the messages that are locked (free(3)); NULL: there are none, nothing is open */
};

/* Opens the transaction and locks the next messages that meet the condition; one that a delivery holds is left out. The
 * condition has to be looked at again behind the locks: before them anything may have happened.
 *
 * condition  SQL about a message m, with the parameters from $1 on
 *
 * False with the fault set: nothing is open. */
bool ledger_batch_lock(struct ledger *ledger, const char *condition, size_t count, const struct pg_param *params,
                       struct ledger_batch *batch, struct fault *fault) OD_MUST;

/* Runs the statement and commits. NULL with the fault set: the batch has not happened. */
PGresult *ledger_batch_commit(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                              struct fault *fault) OD_MUST;

#endif
