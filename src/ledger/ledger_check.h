/* SPDX-License-Identifier: ISC
 *
 * Tests that deliveries can rely on this database; nothing is left behind. */
#ifndef ONCEDROP_LEDGER_CHECK_H
#define ONCEDROP_LEDGER_CHECK_H

#include "ledger/ledger.h"
#include "sql/sql_engine.h"

/* How the connection to the database is secured, a phrase. *ret_good: there is nothing to improve. */
const char *ledger_check_secured(const struct ledger *ledger, bool *ret_good) OD_MUST;

struct ledger_check_lock {
    size_t hosts;   /* of several in database.conninfo: how many were tested with each other; 0: there is only one */
    char *left_out; /* which of them could not be reached, and why (free(3)); NULL: none */
};

/* Tests whether lock.method excludes: takes the lock in one session and tries it in another, then between each pair of
 * hosts in database.conninfo. False with the fault set if it does not exclude, is not granted when it is free, or there
 * is trouble: a transaction is refused, or cannot begin while another is open. The fault names a method that works, if
 * there is one. Time: usually milliseconds, at most 4 s for each answer. */
bool ledger_check_lock(const struct config *config, struct ledger_check_lock *ret, struct fault *fault) OD_MUST;

/* As sql_engine.h has it, of the ledger's engine: the n-th of those things that no session can show by itself. To be called
 * by a process that has no ledger open. */
enum sql_proof ledger_check_proof(const struct config *config, bool connects, size_t n, const char **ret_name,
                                  struct fault *ret) OD_MUST;

/* Tests whether a delivery can be recorded: does all the locking, reading and writing of a delivery, in a transaction
 * that is rolled back. False with the fault set if not. */
bool ledger_check_write(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
