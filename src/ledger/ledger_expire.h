/* SPDX-License-Identifier: ISC
 *
 * Without this, a message that Postfix gave up, or that an administrator removed from the queue, would stay unfinished
 * for ever, since nobody tells us. By its age, or at the administrator's request, it becomes `abandoned`: deliveries by
 * their outcome, copies by their state. Nothing else changes: doubt is kept, and if the message comes in after all it
 * is delivered as usual. */
#ifndef ONCEDROP_LEDGER_EXPIRE_H
#define ONCEDROP_LEDGER_EXPIRE_H

#include "ledger/ledger_query.h"

/* Selects unfinished messages with no recent try of an unfinished recipient or copy. */
struct ledger_expire {
    int64_t
        older_than_ms; /* milliseconds since the last try; for an APPEND that may still be stored, delivery.hold_off in addition */
    int64_t after, upto; /* message ids: greater than `after`, up to `upto`; each batch advances `after` */
    bool ended;          /* there are no more */
};

/* Lists them, oldest first, one row for each. NULL with the fault set on trouble. Columns: last_at, queue_id,
 * recipients, message_id, reason (of the last try). */
struct ledger_table *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                           struct fault *fault) OD_MUST;

/* Whether the message has anything unfinished, of any age. False with the fault set on trouble. */
bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct fault *fault) OD_MUST;

/* Abandons the next batch, except messages that are just being delivered. Returns the abandoned messages, with the
 * columns above. NULL with the fault set on trouble: nothing was abandoned. */
struct ledger_table *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire,
                                         struct fault *fault) OD_MUST;

#endif
