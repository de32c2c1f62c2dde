/* SPDX-License-Identifier: ISC
 *
 * The session with the database: its transactions, and single statements. ledger_add_* adds steps to the batch; if
 * that fails, sql_send says so (sql.h). */
#ifndef ONCEDROP_LEDGER_SESSION_H
#define ONCEDROP_LEDGER_SESSION_H

#include "ledger/ledger.h"
#include "sql/sql.h"
#include "sql/sql_load.h"

struct ledger {
    const struct config *config;
    const struct sql_engine *engine;
    struct sql *sql; /* NULL: not connected */
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
#define LEDGER_QUEUE_ID(id) SQL_TEXT_MOST((id), 200)

/* The values of a step about one message: which one. */
#define LEDGER_KEY(message) \
    .identity = SQL_BYTES((message)->identity, LEDGER_HASH_SIZE), \
    .digest = SQL_BYTES((message)->digest, LEDGER_HASH_SIZE)

/* The values of a step that makes a claim, or compares its age: this host, and its clocks. */
#define LEDGER_CLOCKS(ledger) \
    .host = SQL_TEXT((ledger)->host), .boot = SQL_NUMBER_IF(base_boot() != 0, base_boot()), \
    .running_us = SQL_NUMBER(base_now_ms() * 1000), .wall_us = SQL_NUMBER(base_wall_us())

/* The value of a step that compares a claim with the hold-off. */
#define LEDGER_HOLD_OFF(ledger) .hold_off_ms = SQL_NUMBER((ledger)->config->delivery.hold_off)

/* Connects again if the connection is not usable any more; false with the fault set if that fails. */
bool ledger_connect(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Whether to retry an operation that failed: only if it failed because a connection kept from before was lost. kept:
 * whether there was such a connection when the operation began. */
bool ledger_lost_kept(const struct ledger *ledger, bool kept) OD_MUST;

/* Runs one step in the session as it is; role is the role that it needs. NULL with the fault set on trouble. */
struct sql_rows *ledger_ask_here(struct ledger *ledger, const char *role, enum sql_step step,
                                 const struct sql_value *values, struct fault *fault) OD_MUST;

/* The same outside of any transaction, for a step that only reads; connects again if necessary. */
struct sql_rows *ledger_ask(struct ledger *ledger, const char *role, enum sql_step step, const struct sql_value *values,
                            struct fault *fault) OD_MUST;

/* The same for a step that writes, in a transaction of its own. */
struct sql_rows *ledger_change(struct ledger *ledger, const char *role, enum sql_step step,
                               const struct sql_value *values, struct fault *fault) OD_MUST;

typedef struct sql_rows *ledger_run(struct ledger *ledger, const char *role, enum sql_step step,
                                    const struct sql_value *values, struct fault *fault);

/* Adds to a fault of the database what an administrator can do about it. role: what the step that failed needs. */
void ledger_add_remedy(const struct ledger *ledger, const char *role, struct fault *fault);

/* Adds the beginning of a transaction and its settings. lock_ms: how long its steps may wait for a lock. */
void ledger_add_begin(struct ledger *ledger, int64_t lock_ms);

/* The same for one that tries the lock or takes it again, and reads: in an engine whose transactions write one at a time,
 * this one need not be one of them. */
void ledger_add_begin_look(struct ledger *ledger, int64_t lock_ms);

/* The same for the site's own statement. */
void ledger_add_begin_as_is(struct ledger *ledger);

/* The same for a transaction that may be lost in a crash of the database: nobody waits for the disk. */
void ledger_add_begin_idle(struct ledger *ledger);

/* Adds what the steps of a batch need that only reads, outside of any transaction. */
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
