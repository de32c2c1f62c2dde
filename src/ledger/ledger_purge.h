/* SPDX-License-Identifier: ISC
 *
 * Old records, in batches: expires unfinished messages, deletes finished ones after adding up their counts
 * (ledger_counter.h).
 *
 * The ledger does not learn that Postfix bounced a message or an administrator removed it. So it expires by age or on
 * request: outcomes and states become "expired", doubt is kept, a later delivery is as usual. A batch that fails
 * changes nothing. */
#ifndef ONCEDROP_LEDGER_PURGE_H
#define ONCEDROP_LEDGER_PURGE_H

#include "ledger/ledger_query.h"

/* Selects unfinished messages whose unfinished recipients and copies were not tried recently. */
struct ledger_expire {
    int64_t older_than_ms; /* since the last attempt; a copy in its hold-off is skipped */
    int64_t after, upto;   /* message ids: above `after` (advanced by each batch), up to `upto` */
    bool ended;
};

/* Lists them, oldest first (step preview_expired). */
struct sql_rows *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                       struct error *error) OD_MUST;

/* Sets *ret: something of the message is unfinished. */
bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct error *error) OD_MUST;

/* Expires the next batch, except messages that a delivery has. Returns those expired, as above. */
struct sql_rows *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire, struct error *error) OD_MUST;

#define LEDGER_PURGE_MIN_AGE_MS (7 * 24 * INT64_C(3600000)) /* Postfix retries for 5 days */

struct ledger_purge {
    int64_t older_than_ms; /* at least LEDGER_PURGE_MIN_AGE_MS */
    int64_t after;         /* last one examined; 0 at first; advanced by each batch */
    int64_t deleted;       /* increased by each batch */
    bool ended;
};

/* Counts the messages to delete once record.expire_after is applied. */
bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct error *error) OD_MUST;

/* Deletes the next batch of messages that are finished, arrived and changed long enough ago, and that no delivery
 * has. */
bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct error *error) OD_MUST;

#endif
