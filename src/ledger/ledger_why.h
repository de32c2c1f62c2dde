/* SPDX-License-Identifier: ISC
 *
 * What became of a message and why, in sentences. */
#ifndef ONCEDROP_LEDGER_WHY_H
#define ONCEDROP_LEDGER_WHY_H

#include <glib.h>

#include "ledger/ledger_query.h"

/* What the sentences are made of: results of the steps of the same names. */
struct ledger_why {
    struct sql_rows *copies, *tries, *deliveries, *others;
};

/* The sentences, as new strings: others with the same Message-ID, the tries in the order of time, then what holds now;
 * each reason is given once. None for what was stored at the first try at once. */
GPtrArray *ledger_why_sentences(const struct ledger_why *why) OD_MUST;

#endif
