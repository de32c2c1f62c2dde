/* SPDX-License-Identifier: ISC
 *
 * Tests whether deliveries can rely on this database. Leaves nothing behind. */
#ifndef ONCEDROP_LEDGER_CHECK_H
#define ONCEDROP_LEDGER_CHECK_H

#include "ledger/ledger.h"
#include "sql/sql_engine.h"

/* Says how the connection is secured. *ret_ok: nothing to improve. */
const char *ledger_check_tls(const struct ledger *ledger, bool *ret_ok) OD_MUST;

struct ledger_check_lock {
    size_t hosts;   /* hosts of database.conninfo tested with each other; 0: only one */
    char *left_out; /* hosts not reached, and why (free(3)); NULL: none */
};

/* Tests that lock.method excludes, between two sessions, then each pair of hosts in database.conninfo; at most 4 s for
 * each result. Fails if it does not, if a free lock is not granted, or if a transaction is refused or cannot begin
 * while another is open. The error names a method that works, if there is one. */
bool ledger_check_lock(const struct config *config, struct ledger_check_lock *ret, struct error *error) OD_MUST;

/* Runs the n-th self-test of the engine (sql_engine.h). The process must have no ledger open. */
enum sql_self_test ledger_self_test(const struct config *config, bool connects, size_t n, const char **ret_name,
                                    struct error *ret) OD_MUST;

/* Tests that a delivery can be recorded, in a transaction that is rolled back. */
bool ledger_check_write(struct ledger *ledger, struct error *error) OD_MUST;

#endif
