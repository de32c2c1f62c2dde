/* SPDX-License-Identifier: ISC
 *
 * Tests that deliveries can rely on this database; nothing is left behind. */
#ifndef ONCEDROP_LEDGER_CHECK_H
#define ONCEDROP_LEDGER_CHECK_H

#include "ledger/ledger.h"

/* How the connection to the database is secured, a phrase. *ret_good: there is nothing to improve. */
const char *ledger_check_secured(const struct ledger *ledger, bool *ret_good) OD_MUST;

/* Tests whether the lock excludes: takes it in this session and tries it in another. *ret is false if it does not
 * exclude, or is not granted when it is free; the fault then says which. Returns false with the fault set on trouble: a
 * transaction is refused, or cannot begin while another is open. Time: at most 4 s for each transaction, 12 s when
 * explaining why there was no answer. */
bool ledger_check_lock(struct ledger *ledger, struct ledger *other, bool *ret, struct fault *fault) OD_MUST;

/* Tests whether a delivery can be recorded: does all the locking, reading and writing of a delivery, in a transaction
 * that is rolled back. False with the fault set if not. */
bool ledger_check_write(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
