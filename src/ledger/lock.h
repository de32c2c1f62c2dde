/* SPDX-License-Identifier: ISC
 *
 * The lock that keeps deliveries of one message apart, across all hosts. It is acquired with a try, asserted again
 * after the COMMIT of a claim, and released. How, depends on the method: advisory locks and locked rows end with their
 * transaction, however that ends; a lease is a row that outlives it, and expires. */
#ifndef ONCEDROP_LOCK_H
#define ONCEDROP_LOCK_H

#include "base/config.h"
#include "ledger/pg.h"

#define LOCK_SLOTS 16384 /* rows of table slot; a power of two. Keys that share a row only wait for each other */

struct lock {
    enum lock_method method;
    int64_t key;
    int64_t owner;       /* of a lease: a random number, new each time that the lock is acquired */
    int64_t lasts_ms;    /* of a lease: how long, from when it was acquired or asserted */
    const char *host;    /* for people */
    const char *session; /* application_name */
};

/* Whether the lock is not bound to a transaction: whoever acquires it must release it. */
bool lock_outlives_transaction(enum lock_method method) OD_MUST;

/* Its name in lock.method and in table agreed. */
const char *lock_method_name(enum lock_method method) OD_MUST;

/* Adds a statement that tries the lock in the open transaction; lock_granted reads its result. */
bool lock_add_acquire(struct pg *pg, const struct lock *lock, struct fault *fault) OD_MUST;

/* Adds a statement that takes the lock again in a new transaction, waiting up to lock_timeout; after that it fails with
 * a particular SQLSTATE (lock_is_timeout). A lease is prolonged if nobody else has had it since. */
bool lock_add_reassert(struct pg *pg, const struct lock *lock, struct fault *fault) OD_MUST;

/* Adds a statement that ends a lease, in the open transaction or in one of its own, unless it is another's by now. */
bool lock_add_release(struct pg *pg, const struct lock *lock, struct fault *fault) OD_MUST;

/* The same for all leases of this owner. */
bool lock_add_release_all(struct pg *pg, int64_t owner, struct fault *fault) OD_MUST;

/* Whether the result of lock_add_acquire says that we have the lock. */
bool lock_granted(const PGresult *result) OD_MUST;

/* The same for lock_add_reassert. */
bool lock_reasserted(const PGresult *result) OD_MUST;

/* Whether this SQLSTATE means that the lock was not granted in time. */
bool lock_is_timeout(const char *sqlstate) OD_MUST;

/* Adds a query for the session that holds the lock: application_name, user, process on the server, and whether it is a
 * delivery of ours. Of a lease, the process is the delivery, with its host. */
bool lock_add_holder(struct pg *pg, const struct lock *lock, struct fault *fault) OD_MUST;

#endif
