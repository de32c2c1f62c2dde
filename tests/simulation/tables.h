/* SPDX-License-Identifier: ISC
 *
 * The ledger's rows, and what each batch of src/ledger does to them when it is executed, as ledger_state.c,
 * ledger_claim.c and ledger_settle.c do in SQL. There are no locks, no sessions, and no time except as arguments: the
 * same calls on a real database must have the same results. */
#ifndef ONCEDROP_SIMULATION_TABLES_H
#define ONCEDROP_SIMULATION_TABLES_H

#include "world.h"

/* Columns identity and digest: which message. */
struct key {
    uint64_t identity, digest;
};

/* Columns account, mailbox and role. */
struct place {
    uint8_t account, box, role;
};

/* A recipient's answer. */
struct recorded_today {
    uint8_t address;
    bool finished, complete;
    const char *outcome; /* a constant */
};

/* A copy to be claimed. */
struct wanted {
    struct place place;
    uint8_t address; /* claimed_by */
    bool doubt, again;
    int32_t generation; /* the number that it gets */
};

/* A copy to be settled. */
struct settled {
    struct place place;
    int32_t generation;
    uint8_t state;
    bool doubt, error;
    uint32_t uidvalidity, uid;
};

/* LEDGER_CLOCKS: the host of a process, and its clocks. */
struct clocks {
    unsigned host;
    int64_t boot, running, wall;
};

/* The batch of a claim or of a settling. */
struct statements {
    struct key key;
    struct clocks clocks;
    bool is_claim;
    bool record; /* the message is new */
    int64_t received_at, token;
    uint8_t told_count, wanted_count, settled_count;
    struct recorded_today recorded_today[RECIPIENTS];
    struct wanted wanted[TARGETS];
    struct settled settled[TARGETS];
};

/* Table message. */
struct message_row {
    struct key key;
    int64_t received_at;
};

/* Table delivery. */
struct delivery_row {
    uint16_t message;
    uint8_t address;
    bool finished, complete;
    int32_t tries;
    const char *outcome;
};

/* Table copy. */
struct row {
    uint16_t message;
    struct place place;
    uint8_t state, claimed_by;
    bool doubt, error;
    int32_t generation, repeated;
    int64_t attempt_at, first_at, token;
    uint8_t given; /* rows in a feed that takes everything */
    int64_t boot, boot_ahead, host_ahead;
    unsigned host;
    uint32_t uidvalidity, uid;
};

void tables_clear(void);

/* The three queries after the lock. `at` is the database's clock, clocks are those of the host that asks. */
void tables_look(const struct ledger_message *message, struct key key, int64_t hold_off, int64_t at,
                 struct clocks clocks, struct ledger_state *found);

/* Whether a message with this identity is recorded. */
bool tables_has_identity(struct key key) OD_MUST;

/* Step end_ahead. */
void tables_end_ahead(struct key key, int64_t at);

/* Executes a batch, up to its COMMIT. ret_taken: for each settled copy, whether its UPDATE matched no row. */
void tables_execute(const struct statements *statements, int64_t at, bool *ret_taken);

/* The count of the hold: copies at these places that are appending with this token. */
size_t tables_held(struct key key, int64_t token, const struct place *places, size_t count);

/* For the checker; NULL: no such row. */
const struct message_row *tables_message(struct key key) OD_MUST;
const struct delivery_row *tables_delivery(struct key key, uint8_t address) OD_MUST;
const struct row *tables_row(struct key key, struct place place) OD_MUST;

/* All copies, from 0, and their messages; NULL: that was the last. */
const struct row *tables_next(size_t number, struct key *ret_key) OD_MUST;

/* The server's row (ledger_server.c): 0 unknown, 1 honoured. */
extern int tables_server;

#endif
