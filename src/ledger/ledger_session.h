/* SPDX-License-Identifier: ISC
 *
 * What the files of the ledger share: the session and its transactions. */
#ifndef ONCEDROP_LEDGER_SESSION_H
#define ONCEDROP_LEDGER_SESSION_H

#include "ledger/ledger.h"
#include "ledger/lock.h"
#include "ledger/pg.h"

struct ledger {
    const struct config *config;
    struct pg *pg;
    char host[256];
    char application[64];
    bool in_transaction;    /* open, not failed */
    size_t claim_statements;    /* of ledger_claim, before its COMMIT */
    struct fault claim_fault;   /* what ledger_claim could not send */
    bool claim_sent;
};

#define LEDGER_BEGIN_STATEMENTS 2

/* A queue id as a parameter: short enough for its index, where it is written and where it is looked for. */
#define LEDGER_QUEUE_ID(id) {.data = (id), .max = 200}

/* The first two parameters of a statement about one message. */
#define LEDGER_KEY(claim) pg_bytes((claim)->identity, LEDGER_HASH_SIZE), pg_bytes((claim)->digest, LEDGER_HASH_SIZE)

/* Connects anew when the connection is not usable any more; false with the fault set when that fails. */
bool ledger_connect(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Whether something that failed is worth one more try: it was on a connection kept from before, which is lost, and only
 * `kept` says so: whether there was one when it was begun. */
bool ledger_lost_kept(const struct ledger *ledger, bool kept) OD_MUST;

struct ledger_table;

/* One statement outside of any transaction, its result as a table (ledger_query.h). NULL with the fault set on trouble. */
struct ledger_table *ledger_query(struct ledger *ledger, const char *sql, size_t count, const struct pg_param *params,
                                  struct fault *fault) OD_MUST;

/* A random number from the kernel. */
bool ledger_random(int64_t *ret, struct fault *fault) OD_MUST;

/* Adds BEGIN and the transaction's settings: LEDGER_BEGIN_STATEMENTS results. lock_ms is the lock_timeout. */
bool ledger_add_begin(struct ledger *ledger, int64_t lock_ms, struct fault *fault) OD_MUST;

/* Adds the hold: BEGIN, the lock, and a count of the copies that are still ours; ledger_take_hold reads the results. */
bool ledger_add_hold(struct ledger *ledger, const struct ledger_claim *claim,
                     const struct ledger_copy *const *copies, size_t count, struct fault *fault) OD_MUST;
enum ledger_result ledger_take_hold(struct ledger *ledger, size_t count, struct fault *fault) OD_MUST;

/* Adds the record of a message that is not known; *statements is raised by the number of results. */
bool ledger_add_record(struct ledger *ledger, const struct ledger_claim *claim, const struct decoded *decoded,
                       size_t *statements, struct fault *fault) OD_MUST;

/* Adds all that a claim writes: the record (decoded) unless the message is known, the wanted deliveries and copies.
 * *statements is raised by the number of results. */
bool ledger_add_claim(struct ledger *ledger, const struct ledger_claim *claim, const struct decoded *decoded,
                      size_t *statements, struct fault *fault) OD_MUST;

/* Adds all that settling writes. Results: one for each wanted copy, whose command tag says whether the attempt was still
 * ours, and then *ret_more others. */
bool ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, size_t *ret_more,
                       struct fault *fault) OD_MUST;

/* Adds all that is asked and written of an IMAP server, for the check; *statements is raised by the number of results. */
bool ledger_add_server(struct ledger *ledger, size_t *statements, struct fault *fault) OD_MUST;

/* The roles that the schema makes, as their names end: what deliveries and replay may do; what an operator may besides. */
#define LEDGER_DELIVERY "delivery"
#define LEDGER_OPERATOR "operator"

/* Adds to the text of a failed statement what an administrator can do about it, where that is known. role is the one that
 * the statement needs. */
void ledger_add_remedy(const struct ledger *ledger, const char *role, struct fault *fault);

/* Names of states and roles as they stand in the tables. */
const char *ledger_state_name(enum copy_state state) OD_MUST;
enum copy_state ledger_state(const char *name) OD_MUST;
const char *ledger_role_name(enum copy_role role) OD_MUST;

#endif
