/* SPDX-License-Identifier: ISC
 *
 * The session with the database: its transactions, and single statements. ledger_add_* adds statements to the batch; if
 * that fails, pg_send says so (pg.h). */
#ifndef ONCEDROP_LEDGER_SESSION_H
#define ONCEDROP_LEDGER_SESSION_H

#include "ledger/ledger.h"
#include "ledger/ledger_remedy.h"
#include "ledger/pg.h"

struct ledger {
    const struct config *config;
    struct pg *pg;
    char host[256];
    char application[64];
    bool in_transaction; /* open and not failed, so a lock that ends with it is held */
    bool knew;           /* the last message that was looked at, as may be the next */
    int64_t lock_key;    /* of this delivery */
    int64_t lock_owner;  /* of a lease: a random number, new each time that the lock is acquired */
    bool leased;         /* the lock is a lease that must be released, or will expire */
    char *holder;        /* the session that held the lock when it was not granted; NULL: unknown, or already told */
};

/* A queue id as a parameter: cut to fit its index, both for writing and for searching. */
#define LEDGER_QUEUE_ID(id) ((struct pg_param){.data = (id), .max = 200})

/* The first two parameters of a statement about one message. */
#define LEDGER_KEY(message) \
    PG_BYTES((message)->identity, LEDGER_HASH_SIZE), PG_BYTES((message)->digest, LEDGER_HASH_SIZE)

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

/* Adds BEGIN and the transaction's settings; the last column of their result is pg_backend_pid(). lock_ms is the
 * lock_timeout. */
void ledger_add_begin(struct ledger *ledger, int64_t lock_ms);

/* The same for the site's own statement, which may rely on the search_path of its role. */
void ledger_add_begin_as_is(struct ledger *ledger);

/* The same for a transaction that may be lost in a crash of the database: nobody waits for the disk. */
void ledger_add_begin_idle(struct ledger *ledger);

/* Adds the safe path for the statements of a batch that only reads, outside of any transaction. */
void ledger_add_path(struct ledger *ledger);

/* Adds a row about something that only the statistics count: held, search. */
void ledger_add_event(struct ledger *ledger, const char *name, size_t count);

/* Ends the batch, of which the last statement was a COMMIT; if one failed, also its transaction. */
void ledger_finish(struct ledger *ledger);

/* Names of states and roles as used in the tables. */
const char *ledger_state_name(enum copy_state state) OD_MUST;
enum copy_state ledger_state(const char *name) OD_MUST;
const char *ledger_role_name(enum copy_role role) OD_MUST;

#endif
