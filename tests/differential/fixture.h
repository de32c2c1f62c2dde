/* SPDX-License-Identifier: ISC
 *
 * What a history needs in addition to ledger.h: events that happen to a ledger, and its tables. There are two: real.c with the
 * real ledger and a database, simulated.c with that of tests/simulation. Everything here happens between two
 * calls and is over when the function returns, so that a history has only one possible course. */
#ifndef ONCEDROP_DIFFERENTIAL_FIXTURE_H
#define ONCEDROP_DIFFERENTIAL_FIXTURE_H

#include "ledger/ledger.h"

/* SESSIONS ledgers at once. Strangers are sessions that only want a lock. */
enum { SESSIONS = 3, STRANGERS = 2, ADDRESSES_MAX = 8, ACCOUNTS_MAX = 6, CONTENTS_MAX = 4 };

#define HOUR_MS INT64_C(3600000)

/* database.conninfo says how the simulated ledger is broken ("": not at all). False: impossible. The configuration must
 * last until fixture_close. */
bool fixture_open(const struct config *config) OD_MUST;
void fixture_close(void);

/* A new history with these ledgers: each has a session and no transaction. Earlier contents do not matter. */
void fixture_begin(struct ledger *const ledgers[SESSIONS]);

/* Replaces one that was closed. */
void fixture_replace(size_t session, struct ledger *ledger);

/* The ledger forgets that it has met a known message: ledger_claim_if_new is tried. */
void fixture_forget_known(size_t session);

/* What happens to a batch. */
enum fixture_fate {
    FIXTURE_DONE,
    FIXTURE_LOST,        /* the session ends before it is executed */
    FIXTURE_UNREPORTED,  /* executed, but the session ends without an answer */
    FIXTURE_ROLLED_BACK, /* one of its statements fails, instead of its COMMIT */
    FIXTURE_LATE,        /* its ledger loses it; it is executed later (fixture_late_comes), then its session ends */
};
extern const char *const fixture_fate_names[];

/* For the next `count` batches. */
void fixture_set_fate(enum fixture_fate fate, int count);

/* Whether a late batch is still to come; lets it come. */
bool fixture_late(void) OD_MUST;
void fixture_late_comes(void);

/* Waits until everything that was sent is executed, or waits for a lock. */
void fixture_work(void);

/* Whether a ledger's batch waits for its lock. */
bool fixture_waits(size_t session) OD_MUST;

/* A ledger's session ends; the ledger does not know yet. */
void fixture_kill(size_t session);

/* Makes all attempts this much older. */
void fixture_pass(int hours);

/* A stranger asks for the message's lock, and waits for it without limit; then it keeps it until it leaves. For a
 * session's lock there is no wait: false if another session has it, and the stranger leaves at once. */
bool fixture_stranger_asks(size_t stranger, const struct ledger_message *message) OD_MUST;
bool fixture_stranger_waits(size_t stranger) OD_MUST;
void fixture_stranger_leaves(size_t stranger);

/* Rows, as far as both grounds have them. */
struct fixture_delivery {
    bool there, finished, complete;
    int tries;
    char outcome[16];
};

struct fixture_copy {
    enum copy_state state; /* COPY_NONE: no row */
    enum copy_role role;
    bool doubt, error;
    int generation, repeated;
    int64_t hours, first_hours; /* since the attempt, and since the first one */
    int64_t token;
    unsigned owner; /* number of the owner's address */
    int64_t uidvalidity, uid;
};

struct fixture_record {
    bool known;
    int64_t received_at;
    struct fixture_delivery deliveries[ADDRESSES_MAX];
    struct fixture_copy copies[ACCOUNTS_MAX][2]; /* INBOX and Sent of each account */
};

/* Reads what is recorded about a content, by its identity and digest. */
void fixture_read(const struct ledger_message *content, struct fixture_record *ret);

#endif
