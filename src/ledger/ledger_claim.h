/* SPDX-License-Identifier: ISC
 *
 * A claim: ledger_claim.c makes it, ledger_settle.c ends it. */
#ifndef ONCEDROP_LEDGER_CLAIM_H
#define ONCEDROP_LEDGER_CLAIM_H

#include "ledger/ledger_session.h"

struct ledger_claimed {
    struct ledger_copy copy;
    int64_t generation; /* ours */
    bool settled;       /* ledger_settle was called */
};

struct ledger_claim {
    const struct ledger_message *message;
    struct ledger_claimed *copies;
    size_t copy_count;
    int64_t token;       /* random */
    bool in_flight;      /* its batch was sent */
    struct error error;  /* otherwise: why */
    bool committed;      /* certainly */
    bool refused;        /* certainly not committed */
    size_t commit, hold; /* marks */
};

/* Parameters: the times of an attempt. */
#define LEDGER_TIMES(times) \
    .read_ms = SQL_NUMBER((times)->read), .lock_ms = SQL_NUMBER((times)->lock), \
    .database_ms = SQL_NUMBER((times)->database), .imap_ms = SQL_NUMBER((times)->imap)

#define LEDGER_ALL_TARGETS (SIZE_MAX - 1)

/* Adds the hold: BEGIN, the lock, and a query for the unsettled copies that are still ours. target: only this one, or
 * LEDGER_ALL_TARGETS. Returns the mark for ledger_take_hold. */
size_t ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim, size_t target) OD_MUST;

/* Reads the result of a hold of `count` copies. */
enum ledger_result ledger_take_hold(struct ledger *ledger, size_t mark, size_t count, struct error *error) OD_MUST;

struct ledger_claim *ledger_claim_new(const struct ledger_message *message, const struct ledger_state *found,
                                      const struct ledger_copy *copies, size_t copy_count) OD_MUST;

void ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_state *found,
                      struct ledger_replies replies, const struct decoded *decoded);

/* Adds what settling writes: first a statement for each copy, which changes a row if the copy is still ours. */
void ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy_result *result,
                       size_t result_count, struct ledger_replies replies);

#endif
