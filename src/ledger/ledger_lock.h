/* SPDX-License-Identifier: ISC
 *
 * The lock that excludes two deliveries of one message, on all hosts. With lock.method = advisory or row it ends with
 * its transaction. With the others it is a lease, held until it is released or expires. */
#ifndef ONCEDROP_LEDGER_LOCK_H
#define ONCEDROP_LEDGER_LOCK_H

#include "ledger/ledger_session.h"

#define LOCK_SLOTS 16384 /* rows of table slot, a power of two; keys may share one */

/* Returns true if the lock is a lease: each batch ends its own transaction, and the lock must be released. */
bool ledger_leases(const struct ledger *ledger) OD_MUST;

bool ledger_has_method(const struct ledger *ledger, enum lock_method method) OD_MUST;

/* Returns true if lock.method is the recorded one of all hosts; NULL: none recorded. */
bool ledger_agrees(const struct ledger *ledger, const char *recorded, struct error *error) OD_MUST;

/* Sets the key, and a lease's owner, before the lock is acquired. */
bool ledger_set_lock(struct ledger *ledger, int64_t key, struct error *error) OD_MUST;

void ledger_remember_lock(struct ledger *ledger, bool held);

/* Adds a statement that tries the lock in the open transaction, for lock_granted. wait_ms: timeout, if the engine can
 * wait. */
void ledger_add_acquire(struct ledger *ledger, int64_t key, int64_t wait_ms);
bool lock_granted(const struct sql_rows *rows) OD_MUST;

/* Adds a statement that takes the lock again in a new transaction, for lock_reasserted. A lease is prolonged, unless
 * another session has had it. */
void ledger_add_reassert(struct ledger *ledger);
bool lock_reasserted(const struct sql_rows *rows) OD_MUST;

/* Returns true if ledger_add_end at this mark succeeded: a lease counts only once it is committed. */
bool ledger_ended(struct ledger *ledger, size_t mark, struct error *error) OD_MUST;

/* Returns true if another transaction committed first, so that ours is rolled back. */
bool ledger_conflicted(const struct ledger *ledger, const struct error *error) OD_MUST;

/* Runs a step by ledger_read or ledger_write. Retries once after a conflict, or if a reused connection was lost. */
struct sql_rows *ledger_query_or_retry(ledger_query_function *once, struct ledger *ledger, enum sql_step step,
                                       const struct sql_value *values, struct error *error) OD_MUST;

/* Returns true after a conflict or a lock timeout. */
bool ledger_lock_timed_out(const struct ledger *ledger, const struct error *error) OD_MUST;

/* Adds the release of a lease, if it is held and still ours. */
void ledger_add_release(struct ledger *ledger);

/* Adds the release of all leases since ledger_set_lock. */
void ledger_add_release_all(struct ledger *ledger);

/* Rolls back, and releases the lock. */
void ledger_rollback(struct ledger *ledger);

/* Adds a ROLLBACK, if a transaction may be open. */
void ledger_add_rollback(struct ledger *ledger);

/* Adds the end of a batch after which the lock must be held: commits a lease. */
void ledger_add_end(struct ledger *ledger);

/* Adds BEGIN for the work under a lease, which was taken in its own transaction. */
void ledger_add_begin_under(struct ledger *ledger);

/* Adds a query for the lock holder; ledger_take_holder keeps it for ledger_holder. */
void ledger_add_holder(struct ledger *ledger);
void ledger_take_holder(struct ledger *ledger, size_t mark);

#endif
