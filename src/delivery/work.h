/* SPDX-License-Identifier: ISC
 *
 * A delivery in progress: the results of its steps. Each step adds its own; only of a copy may a later step tell more, and
 * `whole` may change. */
#ifndef ONCEDROP_WORK_H
#define ONCEDROP_WORK_H

#include "delivery/plan.h"
#include "delivery/targets.h"

enum quarantine {
    QUARANTINE_NONE,
    QUARANTINE_DUE,    /* an explanation is to be stored, with the message attached */
    QUARANTINE_STORED, /* it is */
};

/* The result of a copy. */
struct made {
    enum copy_state state;     /* COPY_NONE: it was not tried yet */
    bool doubt;                /* it may be there, whatever the state */
    uint32_t uidvalidity, uid; /* 0: unknown */
    bool never;                /* there is no such mailbox, and none can be made */
    const char *fallback;      /* the mailbox it was tried in last, if that is not the target's; NULL: it is */
    enum quarantine quarantine;
    struct report report; /* for the recipients of this mailbox */
};

struct delivery_work {
    const struct delivery_request *request;
    struct delivery *delivery; /* the delivery of this request, with its answers */
    struct targets targets;
    struct ledger_found *found;
    struct plan *plan;
    struct ledger_claim *claim;
    struct appending *appends; /* [targets] the APPENDs under way (append.h) */
    struct made *made;         /* [targets] the results */
    bool whole;                /* the message is known to be complete; false again if the reader goes away */
};

/* What is to be stored for a target, and where. */
struct letter {
    size_t target;
    bool doubt;                        /* an earlier attempt may have stored it there */
    const struct message *explanation; /* stored in place of the message (quarantine_append); NULL: the message */
    const char *fallback;              /* the mailbox in place of the target's (fallback_append); NULL: the target's */
};

/* The message, in the target's mailbox. */
static inline struct letter letter_planned(const struct delivery_work *work, size_t target)
{
    return (struct letter){.target = target, .doubt = work->plan->targets[target].doubt};
}

static inline const char *letter_mailbox(const struct delivery_work *work, const struct letter *letter)
{
    return letter->fallback != NULL ? letter->fallback : work->targets.list[letter->target].mailbox;
}

/* made.c: whether there is time to make another copy, even if its server does not answer, and to settle it. Otherwise the
 * deadline would leave all copies made so far unsettled. */
bool made_in_time(const struct config *config) OD_MUST;

/* What a result of APPEND means. UIDVALIDITY and UID must be set in *made; sets the rest of it. */
void made_by_append(const struct delivery_work *work, const struct letter *letter, enum append_result result,
                    const struct fault *fault, struct made *made);

#endif
