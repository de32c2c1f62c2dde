/* SPDX-License-Identifier: ISC
 *
 * Proofs that deliveries can rely on this database; nothing stays behind. */
#ifndef ONCEDROP_LEDGER_CHECK_H
#define ONCEDROP_LEDGER_CHECK_H

#include "ledger/ledger.h"

/* How the connection to the database is secured, a phrase; *ret_good: as well as can be. */
const char *ledger_check_secured(const struct ledger *ledger, bool *ret_good) OD_MUST;

/* Whether the lock excludes: takes it on this session and tries it on another; *ret false: it does not exclude, or is
 * not granted when it is free. The fault is set on trouble (a transaction is refused, or not begun while another is open),
 * and says what is wrong when *ret is false. Time: 4 s for each of the transactions, 12 s with what explains their
 * silence. */
bool ledger_check_lock(struct ledger *ledger, struct ledger *other, bool *ret, struct fault *fault) OD_MUST;

/* Whether a delivery can be recorded: locks, reads and writes all that one does, in a transaction that is rolled back.
 * False with the fault set when not. */
bool ledger_check_write(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
