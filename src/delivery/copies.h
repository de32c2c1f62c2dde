/* SPDX-License-Identifier: ISC
 *
 * Which copies a message needs: the recipients' mailboxes, each once, and the sender's Sent mailbox. */
#ifndef ONCEDROP_COPIES_H
#define ONCEDROP_COPIES_H

#include "delivery/delivery.h"

/* A delivery under way. */
struct delivery_work {
    struct delivery *delivery;
    struct ledger_claim claim;
    struct ledger_copy *copies;         /* inbox copies first, the Sent copy, if any, last */
    size_t *order;                      /* places of the copies in a random order: if some take all the time there is for
                                           a message, it shall not be the same ones at every retry that are left */
    struct ledger_delivery *deliveries; /* one for each recipient, in their order */
    struct ledger_copy *sent;           /* among copies, or NULL */
    struct route sender;                /* account and Sent mailbox of the sender, when sent is set */
    size_t sent_owner;                  /* recipient that answers for the Sent copy */
    const struct ledger_copy *unreachable;  /* the copy whose IMAP session was not to be had during the claim ... */
    struct fault unreachable_fault;         /* ... and why */
    bool sent_waits;                    /* our own earlier claim of it is too fresh to be looked into */
    bool whole;                         /* the message is known not to be cut short */
    char *message_id;                   /* valid UTF-8, or NULL */
    char *sender_text;                  /* valid UTF-8 */
};

#define COPIES_NO_COPY SIZE_MAX

/* Routes every recipient and collects the copies and the lock's key. Recipients that lead nowhere have their report
 * set and need no more. Returns false when that is so for all of them. */
bool copies_collect(struct delivery_work *work) OD_MUST;

/* After ledger_lock: marks as wanted what this delivery has to make, by the states found; the reports of recipients
 * whose copy is there already (duplicate) or too fresh (held) are set. Returns how many copies are wanted. */
size_t copies_decide(struct delivery_work *work) OD_MUST;

void copies_clear(struct delivery_work *work);

#endif
