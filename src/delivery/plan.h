/* SPDX-License-Identifier: ISC
 *
 * What a delivery does about each mailbox, and why: a function of what was found in the ledger and of what is asked for,
 * and of nothing else. On it rests "exactly once". */
#ifndef ONCEDROP_PLAN_H
#define ONCEDROP_PLAN_H

#include "base/config.h"
#include "ledger/ledger.h"

/* What is done about a copy that the ledger has as stored. */
enum delivery_again {
    AGAIN_NO,     /* nothing: it is a duplicate */
    AGAIN_VERIFY, /* the mailbox is searched for it; what is missing there is restored */
    AGAIN_FORCE,  /* a recipient's copy is made once more */
};

enum plan_action {
    PLAN_BUSY,      /* leave it: another delivery may be at it. 0: what nobody decided is tried again */
    PLAN_DUPLICATE, /* leave it: it is there */
    PLAN_ELSEWHERE, /* leave it: the Sent copy is somebody else's to make */
    PLAN_GIVEN_UP,  /* leave it: the Sent copy was given up */
    PLAN_APPEND,
    PLAN_SEARCH, /* look into the mailbox, and append it if it is not there */
};

/* Why; plan_why_text says it in words. */
enum plan_why {
    WHY_NEW_MESSAGE, /* not known yet */
    WHY_NEW_MAILBOX, /* known, but not for this mailbox */
    WHY_PENDING,     /* recorded, and certainly not stored */
    WHY_DOUBT,       /* recorded, and perhaps stored */
    WHY_CUT_OFF,     /* its last attempt ended without a word, a hold-off ago */
    WHY_REFUSED,     /* refused for good before, and brought again */
    WHY_STORED,      /* stored */
    WHY_VERIFIED,    /* stored, and looked for on purpose */
    WHY_FORCED,      /* stored, and made once more on purpose */
    WHY_UNDER_WAY,   /* claimed less than a hold-off ago */
    WHY_VARIANT,     /* Sent: another content with the same Message-ID has it, or may yet have it */
    WHY_NOBODY,      /* Sent: no recipient of this delivery goes on */
};

struct plan_request {
    enum delivery_again again;
    int64_t hold_off; /* milliseconds */
    bool search;      /* look before every APPEND (imap.search = always) */
    bool has_id;      /* the message has a Message-ID: by it Sent is looked into */
    const struct ledger_target *targets;
    size_t target_count;
    const size_t *recipients; /* the target of each, or LEDGER_NO_TARGET */
    size_t recipient_count;
};

struct plan_target {
    enum plan_action action;
    enum plan_why why;
    bool doubt; /* it may be there: claimed with doubt */
};

struct plan {
    size_t sent;                  /* the target that is the Sent copy, or LEDGER_NO_TARGET */
    size_t sent_owner;            /* the recipient that answers for it, or LEDGER_OTHER: none of this delivery */
    bool sent_waits;              /* its claim is too fresh to be touched, and it is for that recipient to come again */
    struct plan_target targets[]; /* one for each of the request */
};

/* Never NULL; free(3). */
struct plan *plan_make(const struct ledger_found *found, const struct plan_request *request) OD_MUST;

/* Whether this target is made. */
static inline bool plan_is_made(const struct plan_target *target)
{
    return target->action == PLAN_APPEND || target->action == PLAN_SEARCH;
}

/* Whether this recipient is answered for by this delivery: what another is at is that one's to record. */
static inline bool plan_goes_on(const struct plan *plan, size_t target)
{
    return target != LEDGER_NO_TARGET && plan->targets[target].action != PLAN_BUSY;
}

/* A phrase. */
const char *plan_why_text(enum plan_why why) OD_MUST;

#endif
