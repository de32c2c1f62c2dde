/* SPDX-License-Identifier: ISC
 *
 * The lock that keeps deliveries of one message apart, across all hosts. It is acquired with a try, asserted again
 * after the COMMIT of a claim, and released. How, depends on the method: an advisory lock ends with its transaction,
 * however that ends; a lease would outlive it, and a row lock would have to find its row. */
#ifndef ONCEDROP_LOCK_H
#define ONCEDROP_LOCK_H

#include "base/config.h"
#include "ledger/pg.h"

/* Whether this method is implemented. The functions below accept only those that are. */
bool lock_is_known(enum lock_method method) OD_MUST;

/* Adds a statement that tries the lock in the open transaction; lock_granted reads its result. */
bool lock_add_acquire(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault) OD_MUST;

/* Adds a statement that takes the lock again in a new transaction, waiting up to lock_timeout; after that it fails with
 * a particular SQLSTATE (lock_is_timeout). */
bool lock_add_reassert(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault) OD_MUST;

/* Whether the result of lock_add_acquire says that we have the lock. */
bool lock_granted(const PGresult *result) OD_MUST;

/* Whether this SQLSTATE means that the lock was not granted in time. */
bool lock_is_timeout(const char *sqlstate) OD_MUST;

#endif
