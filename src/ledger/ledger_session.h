/* SPDX-License-Identifier: ISC
 *
 * Shared by the files of the ledger: the session, its transactions, and the parts that batches consist of. ledger_add_*
 * adds a part to the batch and returns marks, by which its results are taken later (pg.h). */
#ifndef ONCEDROP_LEDGER_SESSION_H
#define ONCEDROP_LEDGER_SESSION_H

#include "ledger/ledger.h"
#include "ledger/lock.h"
#include "ledger/pg.h"

struct ledger {
    const struct config *config;
    struct pg *pg;
    char host[256];
    char application[64];
    bool in_transaction; /* open and not failed, so a lock that ends with it is held */
    bool knew;           /* the last message that was looked at, as may be the next */
    struct lock lock;    /* of this delivery */
    bool leased;         /* lock is a lease that must be released, or will expire */
    char *holder;        /* the session that held the lock when it was not granted; NULL: unknown, or already told */
};

struct ledger_claimed {
    struct ledger_copy copy;
    int64_t attempt; /* ours */
    bool settled;    /* ledger_settle was called for it, whatever the result */
};

/* A claim, from ledger_claim to its end. */
struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_claimed *copies;
    size_t copy_count;
    int64_t token;       /* random: distinguishes this claim from any other */
    bool in_flight;      /* its batch was sent ... */
    struct fault fault;  /* ... or the reason why not */
    bool committed;      /* it is certainly in the ledger */
    size_t commit, hold; /* marks */
};

/* A queue id as a parameter: cut to fit its index, both for writing and for searching. */
#define LEDGER_QUEUE_ID(id) ((struct pg_param){.data = (id), .max = 200})

/* The first two parameters of a statement about one message. */
#define LEDGER_KEY(message) \
    pg_bytes((message)->identity, LEDGER_HASH_SIZE), pg_bytes((message)->digest, LEDGER_HASH_SIZE)

/* The times of a try as parameters; texts: char[LEDGER_TIMES][24]. */
#define LEDGER_TIMES 4
#define LEDGER_NUMBER(number, text) ((struct pg_param){.data = pg_number((number), (text))})
#define LEDGER_SPENT(times, texts) \
    LEDGER_NUMBER((times)->read, (texts)[0]), LEDGER_NUMBER((times)->lock, (texts)[1]), \
        LEDGER_NUMBER((times)->database, (texts)[2]), LEDGER_NUMBER((times)->imap, (texts)[3])

/* The roles that the schema creates, by the ends of their names: one for deliveries and replay; one with more rights,
 * for operators. */
#define LEDGER_DELIVERY "delivery"
#define LEDGER_OPERATOR "operator"

/* Connects again if the connection is not usable any more; false with the fault set if that fails. */
bool ledger_connect(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Whether to retry an operation that failed: only if it failed because a connection kept from before was lost. kept:
 * whether there was such a connection when the operation began. */
bool ledger_lost_kept(const struct ledger *ledger, bool kept) OD_MUST;

/* A column of a SELECT that comes before all other statements of a transaction, and itself needs no operator: from then on
 * no operator, function or type of a stranger is found, however well it fits (as bigint * interval in public would, where
 * PostgreSQL has only double precision * interval). Set for the transaction, so that a pooler does not hand it on. */
#define LEDGER_SAFE_PATH "pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)"

/* Runs one statement in the session as it is, under the safe path; role is the role that it needs. NULL with the fault set
 * on trouble. */
PGresult *ledger_ask_here(struct ledger *ledger, const char *role, const char *sql, size_t count,
                          const struct pg_param *params, struct fault *fault) OD_MUST;

/* The same outside of any transaction, for a statement that only reads; connects again if necessary. */
PGresult *ledger_ask(struct ledger *ledger, const char *role, const char *sql, size_t count,
                     const struct pg_param *params, struct fault *fault) OD_MUST;

/* The same for a statement that writes, in a transaction of its own. */
PGresult *ledger_change(struct ledger *ledger, const char *role, const char *sql, size_t count,
                        const struct pg_param *params, struct fault *fault) OD_MUST;

typedef PGresult *ledger_run(struct ledger *ledger, const char *role, const char *sql, size_t count,
                             const struct pg_param *params, struct fault *fault);

struct ledger_table;

/* Converts a result to a new table (ledger_query.h); NULL gives one without rows and columns. */
struct ledger_table *ledger_table_of(const PGresult *result) OD_MUST;

/* Runs one statement that only reads, outside of any transaction; returns its result as a table (ledger_query.h). NULL with
 * the fault set on trouble. */
struct ledger_table *ledger_query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault) OD_MUST;

/* Rolls the transaction back, and releases the lock. */
void ledger_rollback(struct ledger *ledger);

/* Whether the lock is a lease: the lock is held between transactions, and every batch ends its own. */
bool ledger_leases(const struct ledger *ledger) OD_MUST;

/* To be called before the lock is acquired: it gets a new owner. */
bool ledger_set_lock(struct ledger *ledger, int64_t key, struct fault *fault) OD_MUST;

/* Notes that the lock is held, or not. */
void ledger_note_lock(struct ledger *ledger, bool held);

/* Adds the end of a transaction that is of no use any more, if there may be one. */
bool ledger_add_rollback(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds the release of the lock, if that is a statement. */
bool ledger_add_release(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds the end of a batch behind which the lock must still be held: that of the transaction, if it is a lease. */
bool ledger_add_end(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds the question who holds the message's lock, for ledger_take_holder, which keeps the answer for ledger_holder. */
bool ledger_add_holder(struct ledger *ledger, const struct ledger_message *message, struct fault *fault) OD_MUST;
void ledger_take_holder(struct ledger *ledger, size_t mark);

/* A lock with this key, by lock.method, with the owner of the last ledger_set_lock. */
struct lock ledger_lock(const struct ledger *ledger, int64_t key) OD_MUST;

/* Whether lock.method is the one recorded in table agreed, which all hosts use; false with the fault set if not. The
 * argument is NULL if that table is empty. */
bool ledger_agrees(const struct ledger *ledger, const char *recorded, struct fault *fault) OD_MUST;

/* Adds BEGIN and the transaction's settings; the last column of their result is pg_backend_pid(). lock_ms is the
 * lock_timeout. */
bool ledger_add_begin(struct ledger *ledger, int64_t lock_ms, struct fault *fault) OD_MUST;

/* The same for the site's own statement, which may rely on the search_path of its role. */
bool ledger_add_begin_as_is(struct ledger *ledger, struct fault *fault) OD_MUST;

/* The same for a transaction that may be lost in a crash of the database: nobody waits for the disk. */
bool ledger_add_begin_idle(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds the safe path for the statements of a batch that only reads, outside of any transaction. */
bool ledger_add_path(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Ends the batch, of which the last statement was a COMMIT; if one failed, also its transaction. */
void ledger_finish(struct ledger *ledger);

/* Locks table tally, so that counting and deleting do not overlap. Its trigger then trusts this transaction to subtract
 * what it deletes. */
#define LEDGER_TALLY_LOCK \
    "SELECT pg_catalog.set_config('oncedrop.subtracts', 'yes', true) FROM @schema@.tally FOR UPDATE"

#define LEDGER_ALL_TARGETS (SIZE_MAX - 1)

/* Adds the hold: BEGIN, the lock, and a query that returns the state of each copy of the claim that is not settled and
 * still ours. target: only this one, or LEDGER_ALL_TARGETS. *ret is for ledger_take_hold. */
bool ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, size_t target, size_t *ret,
                     struct fault *fault) OD_MUST;

/* count: how many copies were asked for. */
enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct fault *fault) OD_MUST;

/* Adds the record of a new message. */
bool ledger_add_record(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                       const struct decoded *decoded, struct fault *fault) OD_MUST;

/* A new claim; nothing has been sent for it yet. */
struct ledger_claim *ledger_claim_new(const struct ledger_message *message, const struct ledger_found *found,
                                      const struct ledger_copy *copies, size_t copy_count) OD_MUST;

/* Adds everything that a claim writes: the record (from the decoded message) unless the message is known, the answers
 * and the copies. */
bool ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_found *found,
                      struct ledger_answers answers, const struct decoded *decoded, struct fault *fault) OD_MUST;

/* Adds everything that settling writes. *ret is the mark of the first copy's statement; there is one for each copy.
 * Their command tags show whether the attempt was still ours. */
bool ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_made *made,
                       size_t made_count, struct ledger_answers answers, size_t *ret, struct fault *fault) OD_MUST;

/* Adds all queries and updates about an IMAP server, for the check. */
bool ledger_add_server(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds to the text of a failed statement what an administrator can do about it, if known. role is the role that the
 * statement needs. */
void ledger_add_remedy(const struct ledger *ledger, const char *role, struct fault *fault);

/* Names of states and roles as used in the tables. */
const char *ledger_state_name(enum copy_state state) OD_MUST;
enum copy_state ledger_state(const char *name) OD_MUST;
const char *ledger_role_name(enum copy_role role) OD_MUST;

#endif
