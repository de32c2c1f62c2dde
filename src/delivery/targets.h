/* SPDX-License-Identifier: ISC
 *
 * Where a message belongs: the recipients' mailboxes, each once, and the sender's Sent mailbox. */
#ifndef ONCEDROP_TARGETS_H
#define ONCEDROP_TARGETS_H

#include "delivery/delivery.h"

struct targets {
    struct ledger_message message;       /* what the ledger is told */
    struct ledger_target *list;          /* inboxes first, the Sent copy, if any, last */
    struct ledger_recipient *recipients; /* one for each recipient, in their order */
    size_t *of_recipient;                /* the target of each, or LEDGER_NO_TARGET: it leads nowhere */
    size_t *order;                       /* the targets in a random order: if some take all the time there is for a
                                               message, it shall not be the same ones at every retry that are left */
    struct route sender;                 /* account and Sent mailbox of the sender, when there is a Sent copy */
    char *message_id, *sender_text;      /* valid UTF-8 */
};

/* Routes every recipient and the sender. Recipients that lead nowhere have their report set and need no more. False when
 * that is so for all of them. *ret is to be cleared in any case. */
bool targets_collect(struct delivery *delivery, struct targets *ret) OD_MUST;

/* The first recipient that leads to this target. */
size_t targets_first_recipient(const struct targets *targets, size_t target) OD_MUST;

void targets_clear(struct targets *targets);

#endif
