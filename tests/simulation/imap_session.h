/* SPDX-License-Identifier: ISC
 *
 * A session, and what was sent over it. */
#ifndef ONCEDROP_SIMULATION_IMAP_SESSION_H
#define ONCEDROP_SIMULATION_IMAP_SESSION_H

#include "faults.h"
#include "mailbox/mailbox.h"
#include "world.h"

/* A message that the server has received but not stored yet. */
struct flight {
    struct content *content;
    unsigned account;
    enum box box;
    int64_t internal_date;
    uint32_t uid;
    bool incomplete; /* its last byte is missing */
};

enum step { STEP_NONE, STEP_BEGUN, STEP_FED, STEP_OVER };

struct mailbox {
    unsigned account;
    unsigned epoch;
    bool broken;
    enum step step; /* of its APPEND: */
    struct append append;
    struct call call;          /* begun, or in the literal */
    struct flight *flight;     /* of an early literal already when begun */
    enum append_result result; /* STEP_OVER, and ... */
    const char *name;          /* ... how that is reported */
};

/* The mailbox to append to is there, or can be made. */
bool imap_make(const struct mailbox *mailbox, struct dice *dice) OD_MUST;

struct flight *imap_new_flight(const struct mailbox *mailbox) OD_MUST;

/* The server never stores what it refuses, or lacks a byte of. */
void imap_store(struct flight *flight);

/* The message is stored at once, at some time within the limit, or never, regardless of the client. */
void imap_leave(struct flight *flight, struct dice *dice, bool certainly);

#endif
