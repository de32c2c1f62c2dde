/* SPDX-License-Identifier: ISC
 *
 * Explains what became of a message and why, in sentences. */
#ifndef ONCEDROP_LEDGER_WHY_H
#define ONCEDROP_LEDGER_WHY_H

#include <glib.h>

#include "ledger/ledger_query.h"

/* Results of the steps why_copies, why_tries, why_deliveries, why_others. */
struct ledger_why {
    struct sql_rows *copies, *tries, *deliveries, *others;
};

/* Returns new strings: other messages with this Message-ID, attempts by time, what holds now; each reason once. None if
 * the first attempt stored the message at once. */
GPtrArray *ledger_why_sentences(const struct ledger_why *why) OD_MUST;

#endif
