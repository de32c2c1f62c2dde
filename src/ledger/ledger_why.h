/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_LEDGER_WHY_H
#define ONCEDROP_LEDGER_WHY_H

#include "ledger/ledger_query.h"

/* The section why of ledger_show. */
struct ledger_table *ledger_why(struct ledger *ledger, const char *message, struct fault *fault) OD_MUST;

#endif
