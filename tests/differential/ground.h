/* SPDX-License-Identifier: ISC
 *
 * What a history is played on besides ledger.h: what befalls a ledger without its doing, and its tables. Twice: postgres.c
 * with the real ledger and its database, simulated.c with that of tests/simulation. What happens here happens between two
 * calls and is over when the function returns, so that every history has one course only. */
#ifndef ONCEDROP_DIFFERENTIAL_GROUND_H
#define ONCEDROP_DIFFERENTIAL_GROUND_H

#include "ledger/ledger.h"

/* SESSIONS ledgers at once. Strangers are sessions that want nothing but a lock. */
enum { SESSIONS = 3, STRANGERS = 2, ADDRESSES_MOST = 8, ACCOUNTS_MOST = 6, CONTENTS_MOST = 4 };

#define HOUR_MS INT64_C(3600000)

/* where: the conninfo, or how the simulated ledger is broken ("": not at all). False: that cannot be. */
bool ground_open(const char *where) OD_MUST;
void ground_close(void);

/* A new history, with these ledgers: each has a session and no transaction. What was there before is of no matter. */
void ground_begin(struct ledger *const ledgers[SESSIONS]);

/* In the place of one that was closed. */
void ground_replace(size_t session, struct ledger *ledger);

/* What becomes of a batch. */
enum ground_fate {
    GROUND_DONE,
    GROUND_LOST,        /* the session ends before it is executed */
    GROUND_UNTOLD,      /* executed, but the session ends, and nobody is told */
    GROUND_ROLLED_BACK, /* one of its statements fails, in the place of its COMMIT */
    GROUND_LATE,        /* its ledger loses it; it is executed later (ground_late_comes), then its session ends */
};
extern const char *const ground_fate_names[];

/* Of the next `count` batches from now. */
void ground_set_fate(enum ground_fate fate, int count);

/* One batch is to come late yet; it comes. */
bool ground_late(void) OD_MUST;
void ground_late_comes(void);

/* Until everything that was sent is executed, or waits for a lock. */
void ground_work(void);

/* Whether a ledger's batch waits for its lock. */
bool ground_waits(size_t session) OD_MUST;

/* A ledger's session ends; the ledger has not been told. */
void ground_kill(size_t session);

/* All attempts were so much longer ago. */
void ground_pass(int hours);

/* A stranger asks for the message's lock, and waits for it as long as it takes; then it has it until it leaves. */
void ground_stranger_asks(size_t stranger, const struct ledger_message *message);
bool ground_stranger_waits(size_t stranger) OD_MUST;
void ground_stranger_leaves(size_t stranger);

/* Rows, as far as both have them. */
struct ground_delivery {
    bool there, finished, whole;
    int tries;
    char outcome[16];
};

struct ground_copy {
    enum copy_state state; /* COPY_NONE: no row */
    enum copy_role role;
    bool doubt, error;
    int attempt, repeated;
    int64_t hours, first_hours; /* since the attempt, and since the first one */
    int64_t token;
    unsigned owner; /* number of his address */
    int64_t uidvalidity, uid;
};

struct ground_record {
    bool known;
    int64_t received_at;
    struct ground_delivery deliveries[ADDRESSES_MOST];
    struct ground_copy copies[ACCOUNTS_MOST][2]; /* INBOX and Sent of each account */
};

/* Reads what is recorded of a content, by its identity and digest. */
void ground_read(const struct ledger_message *content, struct ground_record *ret);

#endif
