/* SPDX-License-Identifier: ISC
 *
 * A random history: several ledgers deliver a few messages, with the calls in legal order but any arguments, while
 * sessions end, others ask for locks, and time passes between the calls. All results and all changed rows are printed.
 * Random choices depend on seed, number of the history and number of the step, and on earlier results: the same ledger
 * gives the same text. */
#ifndef ONCEDROP_DIFFERENTIAL_HISTORY_H
#define ONCEDROP_DIFFERENTIAL_HISTORY_H

#include "differential/fixture.h"
#include "simulation/dice.h"

enum { RECIPIENTS_MAX = 4, TARGETS_MAX = RECIPIENTS_MAX + 1, STEPS_MAX = 64 };

enum stage {
    STAGE_IDLE,
    STAGE_LOOKED,  /* has the lock */
    STAGE_CLAIMED, /* its hold comes next */
    STAGE_HELD,
    STAGE_LEFT, /* its claim must be abandoned */
};

/* A ledger, and its current delivery. */
struct player {
    size_t number;
    struct ledger *ledger;
    enum stage stage;
    size_t content;
    struct ledger_message message;
    struct ledger_target targets[TARGETS_MAX];
    struct ledger_recipient recipients[RECIPIENTS_MAX];
    size_t target_of[RECIPIENTS_MAX];
    struct ledger_state *found;
    struct ledger_claim *claim;
    struct ledger_copy copies[TARGETS_MAX];
    bool settled[TARGETS_MAX]; /* of these */
    size_t copy_count;
    size_t next;    /* the only copy that is held, or LEDGER_NO_TARGET: all are */
    bool committed; /* according to its hold */
};

struct content {
    struct ledger_message message; /* its identity, digest and date */
    size_t sender;                 /* number of the account with the Sent copy */
};

struct history {
    struct config config;
    bool claims_if_new; /* the engine can (ledger_claim_if_new) */
    struct player players[SESSIONS];
    struct content contents[CONTENTS_MAX];
    size_t content_count;
    struct fixture_record records[CONTENTS_MAX]; /* as last printed */
    bool stranger_asks[STRANGERS];
    struct ledger_message stranger_messages[STRANGERS];
    int step;
};

/* A lock.method by its name; false if there is none. */
bool history_method(const char *name, enum lock_method *ret) OD_MUST;

/* Opens the ground (fixture.h says when that is impossible) and the ledgers. */
bool history_open(struct history *history, const char *conninfo, enum lock_method method) OD_MUST;
void history_close(struct history *history);

/* left_out[STEPS_MAX]: steps to skip. */
void history_play(struct history *history, uint64_t seed, uint64_t number, const bool *left_out);

/* Names that the simulated ledger knows (simulation/world.h). */
const char *history_address(unsigned number) OD_MUST;
const char *history_account(unsigned number) OD_MUST;

#endif
