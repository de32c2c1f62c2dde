/* SPDX-License-Identifier: ISC
 *
 * Of the client's side of the ledger, what is not in src/ledger/ledger.h. */
#ifndef ONCEDROP_SIMULATION_LEDGER_H
#define ONCEDROP_SIMULATION_LEDGER_H

#include "database.h"

/* Its session, or NULL. */
struct session *ledger_session(const struct ledger *ledger) OD_MUST;

/* Its process has died: the database finds out after so long. */
void ledger_died(struct ledger *ledger, int64_t after);

#endif
