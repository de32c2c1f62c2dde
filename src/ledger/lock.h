/* SPDX-License-Identifier: ISC
 *
 * The lock by which deliveries of one message exclude each other over all hosts. Every method takes it within the
 * open transaction and loses it when that ends, however it ends. */
#ifndef ONCEDROP_LOCK_H
#define ONCEDROP_LOCK_H

#include "base/config.h"
#include "ledger/pg.h"

/* Adds the statement that tries the lock to the batch: one result, for lock_granted. */
bool lock_add_try(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault) OD_MUST;

/* Adds the statement that waits for the lock as long as lock_timeout allows: one result; when the time is over the
 * statement fails with SQLSTATE 55P03 (lock_is_timeout). */
bool lock_add_wait(struct pg *pg, enum lock_method method, int64_t key, struct fault *fault) OD_MUST;

/* Whether a result of lock_add_try says that the lock is ours. */
bool lock_granted(const PGresult *result) OD_MUST;

/* Whether this SQLSTATE is that of a lock that was not granted in time. */
bool lock_is_timeout(const char *sqlstate) OD_MUST;

#endif
