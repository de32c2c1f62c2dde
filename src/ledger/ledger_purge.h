/* SPDX-License-Identifier: ISC
 *
 * Old records, in batches: unfinished messages are abandoned, finished ones are deleted, after their counts
 * were added up (ledger_total.h).
 *
 * Without the former, a message that Postfix gave up, or that an administrator removed from the queue, would stay unfinished
 * for ever, since nobody tells us. By its age, or at the administrator's request, it becomes `abandoned`: deliveries by their
 * outcome, copies by their state. Nothing else changes: doubt is kept, and if the message comes in after all it is delivered
 * as usual.
 *
 * All return false or NULL with the fault set on trouble; a batch has then changed nothing. */
#ifndef ONCEDROP_LEDGER_PURGE_H
#define ONCEDROP_LEDGER_PURGE_H

#include "ledger/ledger_query.h"

/* Selects unfinished messages with no recent try of an unfinished recipient or copy. */
struct ledger_expire {
    int64_t older_than_ms; /* since the last try; but no copy in its hold-off is abandoned */
    int64_t after, upto;   /* message ids: greater than `after`, up to `upto`; each batch advances `after` */
    bool ended;            /* there are no more */
};

/* Lists them, oldest first, one row for each. Columns: last_at, queue_id, recipients, message_id, reason (of the last try). */
struct ledger_table *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                           struct fault *fault) OD_MUST;

/* Whether the message has anything unfinished, of any age. */
bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct fault *fault) OD_MUST;

/* Abandons the next batch, except messages that are just being delivered. Returns these, with the columns above. */
struct ledger_table *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire,
                                         struct fault *fault) OD_MUST;

#define LEDGER_PURGE_YOUNGEST_MS (7 * 24 * INT64_C(3600000)) /* Postfix retries for 5 days */

struct ledger_purge {
    int64_t older_than_ms; /* at least LEDGER_PURGE_YOUNGEST_MS */
    int64_t after;         /* last message of the previous batch; 0 at first; advanced by each batch */
    int64_t deleted;       /* increased by each batch */
    bool ended;            /* there are no more */
};

/* How many messages would be deleted once record.abandon_after is applied. */
bool ledger_purge_count(struct ledger *ledger, int64_t older_than_ms, int64_t *ret, struct fault *fault) OD_MUST;

/* Deletes the next batch of messages that are finished, and that arrived and were last touched long enough ago.
 * Messages that are just being delivered are left for the next time. */
bool ledger_purge_batch(struct ledger *ledger, struct ledger_purge *purge, struct fault *fault) OD_MUST;

#endif
