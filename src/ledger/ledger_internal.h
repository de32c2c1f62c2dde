/* SPDX-License-Identifier: ISC
 *
 * What the files of ledger/ share. */
#ifndef ONCEDROP_LEDGER_INTERNAL_H
#define ONCEDROP_LEDGER_INTERNAL_H

#include <glib.h>

#include "ledger/ledger.h"
#include "ledger/ledger_query.h"
#include "sql/sql.h"
#include "sql/sql_engine.h"

/* ledger_session.c
 * The session with the database. ledger_add_* adds steps to the batch; sql_send reports a failure (sql.h). */

struct ledger {
    const struct config *config;
    const struct sql_engine *engine;
    struct sql *sql; /* NULL: not connected */
    char host[256];
    char application[64];
    bool in_transaction; /* open and not failed: its lock is held */
    bool last_was_known; /* the last message, so perhaps the next */
    bool just_tried;     /* ledger_claim_if_new did not get the lock */
    int64_t lock_key;
    int64_t lock_owner; /* of a lease: random, new for each one */
    bool leased;        /* a lease must be released */
    char *holder;       /* lock holder, not reported yet; NULL: unknown */
};

/* A queue id as a parameter, truncated alike to write and to search. */
#define LEDGER_QUEUE_ID(id) SQL_TEXT_CUT((id), 200)

/* Parameters: the key of a message. */
#define LEDGER_KEY(message) \
    .identity = SQL_BYTES((message)->identity, LEDGER_HASH_SIZE), \
    .digest = SQL_BYTES((message)->digest, LEDGER_HASH_SIZE)

/* Parameters: host and clocks, to claim or to compare a claim's age. */
#define LEDGER_CLOCKS(ledger) \
    .host = SQL_TEXT((ledger)->host), .boot = SQL_NUMBER_OR_NULL(base_boot() != 0, base_boot()), \
    .running_us = SQL_NUMBER(base_now_ms() * 1000), .wall_us = SQL_NUMBER(base_wall_us())

/* The parameter of a step that checks the hold-off. */
#define LEDGER_HOLD_OFF(ledger) .hold_off_ms = SQL_NUMBER((ledger)->config->delivery.hold_off)

/* Reconnects if the connection is not usable. */
bool ledger_connect(struct ledger *ledger, struct error *error) OD_MUST;

/* Returns true if a failed operation lost a reused connection, and may be retried. kept: connected when it began. */
bool ledger_lost_reused(const struct ledger *ledger, bool kept) OD_MUST;

/* Runs a step in the current session. role: needed by the step. */
struct sql_rows *ledger_query_here(struct ledger *ledger, const char *role, enum sql_step step,
                                   const struct sql_value *values, struct error *error) OD_MUST;

/* Runs a step that only reads, outside of any transaction; reconnects. */
struct sql_rows *ledger_read(struct ledger *ledger, const char *role, enum sql_step step,
                             const struct sql_value *values, struct error *error) OD_MUST;

/* Like ledger_read, for a step that writes, in its own transaction. */
struct sql_rows *ledger_write(struct ledger *ledger, const char *role, enum sql_step step,
                              const struct sql_value *values, struct error *error) OD_MUST;

typedef struct sql_rows *ledger_query_function(struct ledger *ledger, const char *role, enum sql_step step,
                                               const struct sql_value *values, struct error *error);

/* Adds the hint to a database error. role: needed by the failed step. */
void ledger_add_hint(const struct ledger *ledger, const char *role, struct error *error);

/* Adds BEGIN and its settings. lock_ms: timeout of its steps for a lock. */
void ledger_add_begin(struct ledger *ledger, int64_t lock_ms);

/* Like ledger_add_begin, to take the lock and read: does not count as a writer where only one may write. */
void ledger_add_begin_read(struct ledger *ledger, int64_t lock_ms);

/* Like ledger_add_begin, for the site's own statement. */
void ledger_add_begin_as_is(struct ledger *ledger);

/* Like ledger_add_begin, but COMMIT does not wait for the disk. */
void ledger_add_begin_idle(struct ledger *ledger);

/* Adds a row for the statistics: "busy", "search". */
void ledger_add_event(struct ledger *ledger, const char *name, size_t count);

/* Ends a batch whose last statement is a COMMIT; rolls back after a failure. */
void ledger_finish(struct ledger *ledger);

const char *ledger_copy_state_name(enum copy_state state) OD_MUST;
enum copy_state ledger_copy_state_of_name(const char *name) OD_MUST;

/* ledger_lock.c
 * The lock that excludes two deliveries of one message, on all hosts. With lock.method = advisory or row it ends with
 * its transaction. With lease it is held until it is released or expires, with session until it is released or the
 * session ends; the code calls both leases. */

#define LOCK_SLOTS 16384 /* rows of table slot, a power of two; keys may share one */

/* Returns true if the lock outlives its transaction: each batch ends its own transaction, and the lock must be released. */
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

/* Adds a statement that takes the lock again in a new transaction; it returns a row if the lock is ours. A lease is
 * renewed, unless another session has had it. */
void ledger_add_relock(struct ledger *ledger);

/* Returns true if a claim can take the lock in its own batch (ledger_claim_if_new). */
bool ledger_can_claim_if_new(const struct ledger *ledger) OD_MUST;

/* Returns true if ledger_add_end at this mark succeeded: a lease counts only once it is committed. */
bool ledger_ended(struct ledger *ledger, size_t mark, struct error *error) OD_MUST;

/* Returns true if another transaction committed first, so that ours is rolled back. */
bool ledger_conflicted(const struct ledger *ledger, const struct error *error) OD_MUST;

/* Runs a step by ledger_read or ledger_write. Retries once after a conflict, or if a reused connection was lost. */
struct sql_rows *ledger_query_or_retry(ledger_query_function *once, struct ledger *ledger, enum sql_step step,
                                       const struct sql_value *values, struct error *error) OD_MUST;

/* Returns true after a conflict or a lock timeout. */
bool ledger_lock_unavailable(const struct ledger *ledger, const struct error *error) OD_MUST;

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

/* ledger_refusal.c */

/* Adds a query for the records that the targets name; false: none. */
bool ledger_add_refusals(struct ledger *ledger, const struct ledger_message *message) OD_MUST;

/* Copies the rows of that query to found->copies. */
void ledger_take_refusals(const struct ledger_message *message, const struct sql_rows *rows,
                          struct ledger_state *found);

/* ledger_record.c */

void ledger_add_record(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                       const struct decoded *decoded);

/* ledger_claim.c
 * A claim: ledger_claim.c makes it, ledger_settle.c ends it. */

struct ledger_claimed {
    struct ledger_copy copy;
    int64_t generation; /* ours */
    bool settled;       /* ledger_settle was called */
};

struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_claimed *copies;
    size_t copy_count;
    int64_t token;      /* random */
    bool if_new;        /* the batch being added takes the lock; the claim may turn out not to be committed */
    bool in_flight;     /* its batch was sent */
    struct error error; /* otherwise: why */
    bool committed;     /* certainly */
    bool refused;       /* certainly not committed */
    size_t copies_mark, commit, hold;
};

/* Parameters: the times of an attempt. */
#define LEDGER_TIMES(times) \
    .read_ms = SQL_NUMBER((times)->read), .lock_ms = SQL_NUMBER((times)->lock), \
    .database_ms = SQL_NUMBER((times)->database), .imap_ms = SQL_NUMBER((times)->imap)

#define LEDGER_ALL_TARGETS (SIZE_MAX - 1)

/* Adds the hold: BEGIN, the lock, and a query for the unsettled copies that are still ours. target: only this one, or
 * LEDGER_ALL_TARGETS. Returns the mark for ledger_take_hold. */
size_t ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, size_t target) OD_MUST;

/* Reads the result of a hold of `count` copies. */
enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct error *error) OD_MUST;

struct ledger_claim *ledger_claim_begin(const struct ledger_message *message, const struct ledger_state *found,
                                        const struct ledger_copy *copies, size_t copy_count) OD_MUST;

void ledger_add_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                      struct ledger_replies replies, const struct decoded *decoded);

/* Adds the claim with a new token, its COMMIT and the hold, and sends the batch. On false the session is of no more use. */
bool ledger_send_claim(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_state *found,
                       struct ledger_replies replies, const struct decoded *decoded, struct error *error) OD_MUST;

/* Adds what settling writes. Returns the mark of the first copy's statement, which changes a row if the copy is still
 * ours; those of the other copies follow. */
size_t ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim,
                         const struct ledger_copy_result *result, size_t result_count, struct ledger_replies replies);

/* ledger_batch.c
 * Changes messages in batches while deliveries go on. A step finds messages, which may take long. A short transaction
 * locks them and their rows, checks the condition again, and changes them; it skips those that a delivery holds. A
 * function that fails has changed nothing, and leaves no transaction open. */

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

/* ledger_explain_group.c
 * Groups consecutive attempts of one kind, for ledger_explain.c. */

struct explain_group {
    size_t first, last; /* rows of step explain_attempts */
    size_t of_delivery;
    bool cut_off;
    int64_t phases_ms[4], ms, queued_ms; /* the longest; queued_ms -1: unknown */
};

/* Returns the next group: same outcome and queue id, reasons that differ in numbers only. is_current: a separate
 * group, reported with its copy. *next: first row, advanced past the group. */
struct explain_group explain_group_next(const struct sql_rows *tries,
                                        bool (*is_current)(const void *context, size_t row), const void *context,
                                        size_t *next) OD_MUST;

/* Returns an attempt's reason, or else its outcome. */
const char *explain_group_reason(const struct sql_rows *tries, size_t row) OD_MUST;

/* ledger_explain.c
 * Explains what became of a message and why, in sentences. */

/* Results of the steps explain_copies, explain_attempts, explain_deliveries, explain_others. */
struct ledger_explanation {
    struct sql_rows *copies, *tries, *deliveries, *others;
};

/* Returns new strings: other messages with this Message-ID, attempts by time, what holds now; each reason once. None if
 * the first attempt stored the message at once. */
GPtrArray *ledger_explain(const struct ledger_explanation *why) OD_MUST;

#endif
