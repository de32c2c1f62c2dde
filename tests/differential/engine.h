/* SPDX-License-Identifier: ISC
 *
 * What only an engine can do for real.c and batch_faults.c: one engine_NAME.c for each. */
#ifndef ONCEDROP_DIFFERENTIAL_ENGINE_H
#define ONCEDROP_DIFFERENTIAL_ENGINE_H

#include "sql/sql.h"
#include "sql/sql_engine.h"

struct fixture_engine {
    const char *schema; /* in place of @schema@ in statements of the warden's; NULL: the engine does that */

    /* Statements of the warden's with one value. Truths are "t" or "f". */
    const char *read_message; /* the digest; gives the id, and when it was received, in seconds */
    const char *read_copies;  /* the message's id; gives what read_copies takes (real_rows.c) */
    const char *age_copies;   /* hours */
    const char *age_leases;   /* hours; NULL: there are none */

    /* Adds a statement of the warden's, which may write; NULL: the engine's own add_text does. */
    void (*add_text)(struct sql_session *session, const char *text, struct sql_value value);

    /* Statements without a value, which `add` adds to a batch. */
    void (*add)(struct sql_session *session, const char *text);
    const char *fails;
    const char *gate; /* waits until late_comes */
    const char
        *let_pass[LOCK_METHODS]; /* between two transactions of a batch: waits until the next session has the lock;
                                         * NULL: the end of a transaction does that */

    /* Closes the gate. */
    void (*begin)(void);

    /* Opens it for the session with this number, until it has ended: when its transactions have, or wait for a lock. */
    void (*late_comes)(int64_t number);

    /* A number of the session that is not 0. */
    int64_t (*number_of)(const struct sql_session *session);

    /* Waits until everything that was sent is done, or waits for a lock (true). */
    bool (*waits)(const struct sql_session *session);

    /* Ends a session, if it still exists, and waits until it and its locks are gone. */
    void (*end)(int64_t number);

    /* Makes sure that an answer that was not yet taken never will be. */
    void (*deafen)(struct sql_session *session);

    /* A ledger is about to use its session, and may find out that it has ended; NULL: the engine sees to that. */
    void (*used)(struct sql_session *session);

    /* A session that number_of knows is about to be closed; NULL: no matter. */
    void (*gone)(const struct sql_session *session);
};
extern const struct fixture_engine fixture_engine;

/* One statement in the warden's session, which no ledger uses. If it fails, the program ends. */
struct sql_rows *warden_ask(const char *text, struct sql_value value) OD_MUST;

/* Whether it gives a row. */
bool warden_finds(const char *text, int64_t number);

#endif
