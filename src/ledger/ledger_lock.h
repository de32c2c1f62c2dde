/* SPDX-License-Identifier: ISC
 *
 * The lock that keeps deliveries of one message apart, across all hosts. It is acquired with a try, asserted again
 * after the COMMIT of a claim, and released. How, depends on lock.method: advisory locks and locked rows end with their
 * transaction, however that ends; a lease is a row that outlives it, and expires. */
#ifndef ONCEDROP_LEDGER_LOCK_H
#define ONCEDROP_LEDGER_LOCK_H

#include "ledger/ledger_session.h"

#define LOCK_SLOTS 16384 /* rows of table slot; a power of two. Keys that share a row only wait for each other */

/* Whether the lock is a lease: it is held between transactions, every batch ends its own, and whoever has acquired it
 * must release it. */
bool ledger_leases(const struct ledger *ledger) OD_MUST;

/* Whether the engine has this method. */
bool ledger_has_method(const struct ledger *ledger, enum lock_method method) OD_MUST;

/* Whether lock.method is the one recorded in table agreed, which all hosts use; false with the fault set if not. The
 * argument is NULL if that table is empty. */
bool ledger_agrees(const struct ledger *ledger, const char *recorded, struct fault *fault) OD_MUST;

/* To be called before the lock is acquired: sets its key, and its owner, if it is a lease. */
bool ledger_set_lock(struct ledger *ledger, int64_t key, struct fault *fault) OD_MUST;

/* Notes that the lock is held, or not. */
void ledger_note_lock(struct ledger *ledger, bool held);

/* Adds a statement that tries the lock with this key in the open transaction; lock_granted reads its result. wait_ms: how
 * long it may wait for the lock, in an engine that can; in others the caller tries again. */
void ledger_add_acquire(struct ledger *ledger, int64_t key, int64_t wait_ms);
bool lock_granted(const struct sql_rows *rows) OD_MUST;

/* Adds a statement that takes the lock again in a new transaction, waiting up to ledger_hold_wait_ms. A lease is prolonged if
 * nobody else has had it since. lock_reasserted reads its result. */
void ledger_add_reassert(struct ledger *ledger);
bool lock_reasserted(const struct sql_rows *rows) OD_MUST;

/* Whether what ledger_add_end added at this mark was done: a lease counts only once it is committed. False with the fault
 * set. */
bool ledger_ended(struct ledger *ledger, size_t mark, struct fault *fault) OD_MUST;

/* Whether another transaction was first, so that the one of the step that failed with this fault is undone. */
bool ledger_conflicted(const struct ledger *ledger, const struct fault *fault) OD_MUST;

/* Runs a step of a delivery by ledger_ask or ledger_change; again if a kept connection was lost, or another delivery was first. */
struct sql_rows *ledger_run_or_retry(ledger_run *once, struct ledger *ledger, enum sql_step step,
                                     const struct sql_value *values, struct fault *fault) OD_MUST;

/* Whether that is so, or the step waited for a lock in vain. */
bool ledger_lock_timed_out(const struct ledger *ledger, const struct fault *fault) OD_MUST;

/* Adds the release of a lease that is held, unless it is another's by now; of other locks nothing. */
void ledger_add_release(struct ledger *ledger);

/* The same for all leases since ledger_set_lock. */
void ledger_add_release_all(struct ledger *ledger);

/* Rolls the transaction back, and releases the lock. */
void ledger_rollback(struct ledger *ledger);

/* Adds the end of a transaction that is of no use any more, if there may be one. */
void ledger_add_rollback(struct ledger *ledger);

/* Adds the end of a batch behind which the lock must still be held: that of the transaction, if it is a lease. */
void ledger_add_end(struct ledger *ledger);

/* Adds the beginning of the transaction that works under the lock: a lease is taken in one of its own before. */
void ledger_add_begin_under(struct ledger *ledger);

/* Adds the question who holds the lock, for ledger_take_holder, which keeps the answer for ledger_holder. */
void ledger_add_holder(struct ledger *ledger);
void ledger_take_holder(struct ledger *ledger, size_t mark);

#endif
