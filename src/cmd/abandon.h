/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_ABANDON_H
#define ONCEDROP_ABANDON_H

#include "ledger/ledger_expire.h"

/* Abandons the messages selected by the first argument, batch by batch, and logs each. Returns them as a new table (see
 * ledger_expire.h), or NULL with the fault set on trouble; messages already abandoned stay so. */
struct ledger_table *abandon_run(struct ledger *ledger, struct ledger_expire expire, struct fault *fault) OD_MUST;

#endif
