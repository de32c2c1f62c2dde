/* SPDX-License-Identifier: ISC
 *
 * The session with the database. ledger_add_* adds steps to the batch; sql_send reports a failure (sql.h). */
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
    bool in_transaction; /* open and not failed: its lock is held */
    bool last_was_known; /* the last message, so perhaps the next */
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

/* Adds what a batch outside of any transaction needs to read. */
void ledger_add_path(struct ledger *ledger);

/* Adds a row for the statistics: "busy", "search". */
void ledger_add_event(struct ledger *ledger, const char *name, size_t count);

/* Ends a batch whose last statement is a COMMIT; rolls back after a failure. */
void ledger_finish(struct ledger *ledger);

const char *ledger_copy_state_name(enum copy_state state) OD_MUST;
enum copy_state ledger_copy_state_of_name(const char *name) OD_MUST;
const char *ledger_role_name(enum copy_role role) OD_MUST;

#endif
