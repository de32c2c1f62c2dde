/* SPDX-License-Identifier: ISC
 *
 * src/ledger/ledger.h on a simulated database, call for call like ledger_state.c, ledger_claim.c and ledger_settle.c,
 * and what these share. For a process that has died, each call reports trouble at once, without any effect. */
#ifndef ONCEDROP_SIMULATION_CLIENT_H
#define ONCEDROP_SIMULATION_CLIENT_H

#include "database.h"

struct ledger {
    const struct config *config;
    struct session *session;
    bool broken; /* the session is known to be lost */
    bool kept;   /* there is one, lost or not: what fails on it may be retried once */
    bool in_transaction;
    uint64_t lock, owner; /* owner: of a lease, or the session; 0: it ends with its transaction */
    bool leased;
    bool just_tried; /* ledger_claim_if_new did not get the lock */
};

struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_copy copies[TARGETS];
    int32_t attempts[TARGETS];
    bool settled[TARGETS];
    size_t count;
    int64_t token;
    struct batch *batch; /* NULL: it could not be sent */
    struct call call;
    bool committed; /* it is certainly in the ledger */
};

/* Its session, or NULL. */
struct session *ledger_session(const struct ledger *ledger) OD_MUST;

/* Its process has died: the database notices after this time. */
void ledger_died(struct ledger *ledger, int64_t after);

bool client_dead(void) OD_MUST;
bool client_trouble(struct error *error, const char *text); /* false */

/* ledger_connect */
bool client_connect(struct ledger *ledger, struct error *error) OD_MUST;

/* It is lost, and the process knows; or the process gives it up. */
void client_lose(struct ledger *ledger);
void client_close(struct ledger *ledger);

/* ledger_lost_reused */
bool client_lost_kept(const struct ledger *ledger, bool kept) OD_MUST;
void client_rollback(struct ledger *ledger);

/* LEDGER_CLOCKS */
struct clocks client_clocks(void) OD_MUST;

struct key client_key(const struct ledger_message *message) OD_MUST;
/* key_of_lock */
uint64_t client_lock(const struct ledger *ledger, const struct ledger_message *message) OD_MUST;
int64_t client_lease(const struct ledger *ledger) OD_MUST;

/* The lock of a batch. */
void client_set_lock(const struct ledger *ledger, struct batch *batch);

/* The lock is held, or not, from now on. */
void client_note_lock(struct ledger *ledger, bool held);
struct place client_place(const struct ledger_message *message, size_t target) OD_MUST;

/* Parts of a batch. */
void client_add_replies(struct statements *statements, const struct ledger_message *message,
                        struct ledger_replies replies);
void client_add_hold(const struct ledger *ledger, const struct ledger_claim *claim, size_t target, struct batch *batch);

/* Decides by a fault what happens to a batch. */
void client_set_fate(struct batch *batch, struct call *call);

/* Waits for its results. False: the process is dead. */
bool client_await(struct batch *batch) OD_MUST;

/* Waits for a guarded batch's decision. False: the process is dead. */
bool client_await_guard(struct batch *batch) OD_MUST;

/* After that: if the connection was lost, the process knows now. */
void client_note_loss(struct ledger *ledger, const struct batch *batch);

#endif
