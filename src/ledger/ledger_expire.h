/* SPDX-License-Identifier: ISC
 *
 * What Postfix has given up, or an administrator has removed from its queue, would stay unfinished for ever: nobody tells
 * us. It is known by its age, or by the administrator's word, and becomes `abandoned`: deliveries by their outcome, copies
 * by their state. Nothing else changes: doubt stays, and a message that comes in after all is delivered as ever. */
#ifndef ONCEDROP_LEDGER_EXPIRE_H
#define ONCEDROP_LEDGER_EXPIRE_H

#include "ledger/ledger_query.h"

/* Which messages: those that are unfinished, and of which nothing unfinished was tried since. */
struct ledger_expire {
    int64_t
        older_than_ms;   /* since its last try; an APPEND that may still be stored is given delivery.hold_off besides */
    int64_t after, upto; /* numbers of messages: above the one, up to the other; `after` is moved on by each batch */
    bool ended;          /* there are no more */
};

/* Them, oldest first, one row each. NULL with the fault set on trouble. Columns: last_at, queue_id, recipients, message_id,
 * reason (what the last try said). */
struct ledger_table *ledger_expire_preview(struct ledger *ledger, const struct ledger_expire *expire,
                                           struct fault *fault) OD_MUST;

/* Whether something of the message is unfinished, whatever its age. False with the fault set on trouble. */
bool ledger_expire_is_open(struct ledger *ledger, int64_t message, bool *ret, struct fault *fault) OD_MUST;

/* Abandons the next batch; what a delivery holds at that moment is left for the next time. The messages abandoned, as
 * above. NULL with the fault set on trouble: the batch has not happened. */
struct ledger_table *ledger_expire_batch(struct ledger *ledger, struct ledger_expire *expire,
                                         struct fault *fault) OD_MUST;

#endif
