/* SPDX-License-Identifier: ISC
 *
 * Where a message belongs: each recipient's mailbox once, and the sender's Sent mailbox. */
#ifndef ONCEDROP_TARGETS_H
#define ONCEDROP_TARGETS_H

#include "delivery/delivery.h"

struct targets {
    struct ledger_message message;
    struct ledger_target *list;    /* Sent, if any, is last */
    const struct config **servers; /* per target (config_server) */
    const char **fallbacks;        /* per target: mailbox if it cannot be created, or NULL */
    struct ledger_recipient *recipients;
    size_t *of_recipient;           /* target, or LEDGER_NO_TARGET: not routed */
    size_t *order;                  /* random, so that at each retry others run out of time */
    struct route sender;            /* of the Sent copy */
    char *message_id, *sender_text; /* valid UTF-8 */
};

/* Routes recipients and sender, and reports what cannot be routed; returns false if nothing is left. *ret must be
 * cleared. */
bool targets_collect(struct delivery *delivery, struct targets *ret) OD_MUST;

/* Removes the server's targets; their recipients, which have reports, count as not routed. */
void targets_leave_out(struct targets *targets, size_t recipient_count, const struct config *server);

size_t targets_first_recipient(const struct targets *targets, size_t target) OD_MUST;

void targets_clear(struct targets *targets);

#endif
