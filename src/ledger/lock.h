/* SPDX-License-Identifier: ISC
 *
 * The lock by which deliveries of one message exclude each other over all hosts. It is acquired with a try, asserted again
 * behind the COMMIT of a claim, and released. What each of these is differs from method to method: an advisory lock ends
 * with its transaction, however that ends; a lease would outlive it, and a row lock would have to find its row. */
#ifndef ONCEDROP_LOCK_H
#define ONCEDROP_LOCK_H

#include "base/config.h"
#include "ledger/pg.h"

/* Whether this method is built: the functions below are for those that are. */
bool lock_is_known(enum lock_method method) OD_MUST;

/* Adds the statement that tries the lock within the open transaction; lock_granted reads its result. */
bool lock_add_acquire(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault) OD_MUST;

/* Adds the statement that takes the lock again in a new transaction, and waits for it as long as lock_timeout allows; when
 * the time is over it fails with an SQLSTATE of its own (lock_is_timeout). */
bool lock_add_reassert(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault) OD_MUST;

/* Whether a result of lock_add_acquire says that the lock is ours. */
bool lock_granted(const PGresult *result) OD_MUST;

/* Whether this SQLSTATE is that of a lock that was not granted in time. */
bool lock_is_timeout(const char *sqlstate) OD_MUST;

#endif
