/* SPDX-License-Identifier: ISC
 *
 * Counters that never decrease: computed from the recorded attempts and from table counter_bucket, to which older
 * attempts are added before purge deletes them. An attempt counts once it cannot change. */
#ifndef ONCEDROP_LEDGER_COUNTER_H
#define ONCEDROP_LEDGER_COUNTER_H

#include "ledger/ledger_query.h"

/* Returns counters, as cmd/stats_prometheus.c describes them: name, label, le, value, also those at 0; by name, then
 * label, with le ascending and 0 last. phase and delay count attempts that took more than the previous le, and at most
 * le milliseconds; 0: any longer. phase_ms and delay_ms are sums. */
struct sql_rows *ledger_counters(struct ledger *ledger, struct error *error) OD_MUST;

/* Adds up what is older than an hour: attempts, which purge may then delete; messages and copies, for ledger_totals. A
 * failure changes nothing. */
bool ledger_counter_update(struct ledger *ledger, struct error *error) OD_MUST;

/* Sets *ret: so much is to be added up that queries are noticeably slower. */
bool ledger_counter_is_due(struct ledger *ledger, bool *ret, struct error *error) OD_MUST;

#endif
