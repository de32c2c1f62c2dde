/* SPDX-License-Identifier: ISC
 *
 * Where a message belongs: the recipients' mailboxes, each once, and the sender's Sent mailbox. */
#ifndef ONCEDROP_TARGETS_H
#define ONCEDROP_TARGETS_H

#include "delivery/delivery.h"

struct targets {
    struct ledger_message message;       /* the description for the ledger */
    struct ledger_target *list;          /* inboxes first, then the Sent copy if there is one */
    const struct config **servers;       /* of each, the configuration with its IMAP server */
    const char **fallbacks;              /* of each, the mailbox to use if it cannot be made; NULL: none */
    struct ledger_recipient *recipients; /* one for each recipient, in the same order */
    size_t *of_recipient;                /* the target of each, or LEDGER_NO_TARGET: not routed */
    size_t *order;       /* the targets in random order: if some take all the time for a message, others should be
                      left out at the next retry */
    struct route sender; /* account and Sent mailbox of the sender, if there is a Sent copy */
    char *message_id, *sender_text; /* valid UTF-8 */
};

/* Routes every recipient and the sender. Recipients that cannot be routed have their report set and are done. False if
 * that is so for all of them. *ret must be cleared in any case. */
bool targets_collect(struct delivery *delivery, struct targets *ret) OD_MUST;

/* Leaves out the targets of this server, and the recipients that belong there, whose answers are given. */
void targets_leave_out(struct targets *targets, size_t recipient_count, const struct config *server);

/* The first recipient that belongs to this target. */
size_t targets_first_recipient(const struct targets *targets, size_t target) OD_MUST;

void targets_clear(struct targets *targets);

#endif
