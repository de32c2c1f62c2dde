/* SPDX-License-Identifier: ISC
 *
 * Explains what became of a message and why, in sentences. */
#ifndef ONCEDROP_LEDGER_EXPLAIN_H
#define ONCEDROP_LEDGER_EXPLAIN_H

#include <glib.h>

#include "ledger/ledger_query.h"

/* Results of the steps explain_copies, explain_attempts, explain_deliveries, explain_others. */
struct ledger_explanation {
    struct sql_rows *copies, *tries, *deliveries, *others;
};

/* Returns new strings: other messages with this Message-ID, attempts by time, what holds now; each reason once. None if
 * the first attempt stored the message at once. */
GPtrArray *ledger_explain(const struct ledger_explanation *why) OD_MUST;

#endif
