/* SPDX-License-Identifier: ISC
 *
 * A claim, which ledger_claim.c makes and ledger_settle.c ends. */
#ifndef ONCEDROP_LEDGER_CLAIM_H
#define ONCEDROP_LEDGER_CLAIM_H

#include "ledger/ledger_session.h"

struct ledger_claimed {
    struct ledger_copy copy;
    int64_t attempt; /* ours */
    bool settled;    /* ledger_settle was called for it, whatever the result */
};

struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_claimed *copies;
    size_t copy_count;
    int64_t token;       /* random: distinguishes this claim from any other */
    bool in_flight;      /* its batch was sent ... */
    struct fault fault;  /* ... or the reason why not */
    bool committed;      /* it is certainly in the ledger */
    bool refused;        /* it certainly is not, for the database said so */
    size_t commit, hold; /* marks */
};

/* The times of a try as values. */
#define LEDGER_SPENT(times) \
    .read_ms = SQL_NUMBER((times)->read), .lock_ms = SQL_NUMBER((times)->lock), \
    .database_ms = SQL_NUMBER((times)->database), .imap_ms = SQL_NUMBER((times)->imap)

#define LEDGER_ALL_TARGETS (SIZE_MAX - 1)

/* Adds the hold: BEGIN, the lock, and a query that returns the state of each copy of the claim that is not settled and
 * still ours. target: only this one, or LEDGER_ALL_TARGETS. Returns the mark for ledger_take_hold. */
size_t ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, size_t target) OD_MUST;

/* count: how many copies were asked for. */
enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct fault *fault) OD_MUST;

/* A new claim; nothing has been sent for it yet. */
struct ledger_claim *ledger_claim_new(const struct ledger_message *message, const struct ledger_found *found,
                                      const struct ledger_copy *copies, size_t copy_count) OD_MUST;

/* Adds everything that a claim writes: the record (from the decoded message) unless the message is known, the answers
 * and the copies. */
void ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_found *found,
                      struct ledger_answers answers, const struct decoded *decoded);

/* Adds everything that settling writes. The first statements are for the copies, one each: how many rows they changed shows
 * whether the attempt was still ours. */
void ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_made *made,
                       size_t made_count, struct ledger_answers answers);

#endif
