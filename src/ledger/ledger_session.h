/* SPDX-License-Identifier: ISC
 *
 * What the files of the ledger share: the session, its transactions, and the parts that its batches are put together of.
 * A part is added to the batch by ledger_add_*, and its results are taken by the marks that it handed out (pg.h). */
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
    bool in_transaction; /* open, and not failed: the lock is held in it */
};

struct ledger_claimed {
    struct ledger_copy copy;
    int64_t attempt; /* ours */
    bool settled;    /* ledger_settle was told of it, whatever came of that */
};

/* A claim, from ledger_claim to its end. */
struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_claimed *copies;
    size_t copy_count;
    int64_t token;       /* random: tells this claim from any other */
    bool in_flight;      /* its batch is on the way ... */
    struct fault fault;  /* ... or why not */
    bool committed;      /* it certainly stands in the ledger */
    size_t commit, hold; /* marks */
};

/* A queue id as a parameter: short enough for its index, where it is written and where it is looked for. */
#define LEDGER_QUEUE_ID(id) ((struct pg_param){.data = (id), .max = 200})

/* The first two parameters of a statement about one message. */
#define LEDGER_KEY(message) \
    pg_bytes((message)->identity, LEDGER_HASH_SIZE), pg_bytes((message)->digest, LEDGER_HASH_SIZE)

/* A try's times as parameters; texts: char[LEDGER_TIMES][24]. */
#define LEDGER_TIMES 4
#define LEDGER_NUMBER(number, text) ((struct pg_param){.data = pg_number((number), (text))})
#define LEDGER_SPENT(times, texts) \
    LEDGER_NUMBER((times)->read, (texts)[0]), LEDGER_NUMBER((times)->lock, (texts)[1]), \
        LEDGER_NUMBER((times)->database, (texts)[2]), LEDGER_NUMBER((times)->imap, (texts)[3])

/* The roles that the schema makes, as their names end: what deliveries and replay may do; what an operator may besides. */
#define LEDGER_DELIVERY "delivery"
#define LEDGER_OPERATOR "operator"

/* Connects anew when the connection is not usable any more; false with the fault set when that fails. */
bool ledger_connect(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Whether something that failed is worth one more try: it was on a connection kept from before, which is lost, and only
 * `kept` says so: whether there was one when it was begun. */
bool ledger_lost_kept(const struct ledger *ledger, bool kept) OD_MUST;

/* One statement on the session as it is; role is the one that it needs. NULL with the fault set on trouble. */
PGresult *ledger_ask_here(struct ledger *ledger, const char *role, const char *sql, size_t count,
                          const struct pg_param *params, struct fault *fault) OD_MUST;

/* The same outside of any transaction: connects anew where that is needed. */
PGresult *ledger_ask(struct ledger *ledger, const char *role, const char *sql, size_t count,
                     const struct pg_param *params, struct fault *fault) OD_MUST;

struct ledger_table;

/* A result as a table (ledger_query.h) of its own; NULL: one without rows and columns. */
struct ledger_table *ledger_table_of(const PGresult *result) OD_MUST;

/* One statement outside of any transaction, its result as a table (ledger_query.h). NULL with the fault set on trouble. */
struct ledger_table *ledger_query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault) OD_MUST;

/* Ends the transaction without a trace. */
void ledger_rollback(struct ledger *ledger);

/* A random number from the kernel. */
bool ledger_random(int64_t *ret, struct fault *fault) OD_MUST;

/* What is locked for a message. */
int64_t ledger_lock_key(const struct ledger_message *message) OD_MUST;

/* Adds BEGIN and the transaction's settings, whose last column is pg_backend_pid(). lock_ms is the lock_timeout. */
bool ledger_add_begin(struct ledger *ledger, int64_t lock_ms, struct fault *fault) OD_MUST;

#define LEDGER_ALL_TARGETS (SIZE_MAX - 1)

/* Adds the hold: BEGIN, the lock, and a row for each copy of the claim that is still ours: of those that are not settled,
 * that of this target, or LEDGER_ALL_TARGETS. *ret is for ledger_take_hold. */
bool ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, size_t target, size_t *ret,
                     struct fault *fault) OD_MUST;

/* count: copies that were asked about. */
enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct fault *fault) OD_MUST;

/* Adds the record of a message that is not known. */
bool ledger_add_record(struct ledger *ledger, const struct ledger_message *message, int64_t received_at,
                       const struct decoded *decoded, struct fault *fault) OD_MUST;

/* A claim that nothing has been sent of. */
struct ledger_claim *ledger_claim_new(const struct ledger_message *message, const struct ledger_found *found,
                                      const struct ledger_copy *copies, size_t copy_count) OD_MUST;

/* Adds all that a claim writes: the record (decoded) unless the message is known, the answers and the copies. */
bool ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_found *found,
                      struct ledger_answers answers, const struct decoded *decoded, struct fault *fault) OD_MUST;

/* Adds all that settling writes. *ret is the mark of the first copy's statement, one for each: their command tags say
 * whether the attempt was still ours. */
bool ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_made *made,
                       size_t made_count, struct ledger_answers answers, size_t *ret, struct fault *fault) OD_MUST;

/* Adds all that is asked and written of an IMAP server, for the check. */
bool ledger_add_server(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Adds to the text of a failed statement what an administrator can do about it, where that is known. role is the one that
 * the statement needs. */
void ledger_add_remedy(const struct ledger *ledger, const char *role, struct fault *fault);

/* Names of states and roles as they stand in the tables. */
const char *ledger_state_name(enum copy_state state) OD_MUST;
enum copy_state ledger_state(const char *name) OD_MUST;
const char *ledger_role_name(enum copy_role role) OD_MUST;

#endif
