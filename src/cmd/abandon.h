/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_ABANDON_H
#define ONCEDROP_ABANDON_H

#include "ledger/ledger_expire.h"

/* Abandons what the first argument says, batch by batch, and logs each message. The messages (ledger_expire.h): a new table.
 * NULL with the fault set on trouble: what was abandoned before stays so. */
struct ledger_table *abandon_run(struct ledger *ledger, struct ledger_expire expire, struct fault *fault) OD_MUST;

#endif
