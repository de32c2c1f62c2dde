/* SPDX-License-Identifier: ISC
 *
 * Decides what a delivery does about each mailbox, and why: a pure function of what the ledger knows and of what is
 * requested. "Exactly once" depends on it. */
#ifndef ONCEDROP_PLAN_H
#define ONCEDROP_PLAN_H

#include "base/config.h"
#include "ledger/ledger.h"

/* What to do about a copy that is stored according to the ledger. */
enum delivery_again {
    AGAIN_NO,      /* nothing: it is a duplicate */
    AGAIN_VERIFY,  /* search the mailbox for it, and restore it if it is missing */
    AGAIN_MISSING, /* the same, but look into the mailboxes before anything is claimed (look.h) */
    AGAIN_LOST,    /* the same, but what may have been deleted since is left so */
    AGAIN_FORCE,   /* make a recipient's copy again */
};

enum plan_action {
    PLAN_BUSY,      /* leave it: another delivery may be making it. This is 0: anything undecided is retried */
    PLAN_DUPLICATE, /* leave it: it is there */
    PLAN_ELSEWHERE, /* leave it: another delivery makes the Sent copy */
    PLAN_GIVEN_UP,  /* leave it: the Sent copy was given up */
    PLAN_APPEND,
    PLAN_SEARCH, /* search the mailbox, and append it if it is not there */
};

/* The reason; plan_why_text describes it. */
enum plan_why {
    WHY_NEW_MESSAGE, /* not recorded yet */
    WHY_NEW_MAILBOX, /* recorded, but not for this mailbox */
    WHY_PENDING,     /* recorded, certainly not stored */
    WHY_DOUBT,       /* recorded, perhaps stored */
    WHY_CUT_OFF,     /* its last attempt ended without a result, a hold-off ago */
    WHY_REFUSED,     /* refused for good earlier, and delivered again */
    WHY_STORED,      /* stored */
    WHY_VERIFIED,    /* stored; a search was requested */
    WHY_FORCED,      /* stored; a further copy was requested */
    WHY_UNDER_WAY,   /* claimed less than a hold-off ago */
    WHY_VARIANT,     /* Sent: another content with the same Message-ID has it, or may still get it */
    WHY_NOBODY,      /* Sent: no recipient of this delivery goes on */
};

struct plan_request {
    enum delivery_again again;
    int64_t hold_off; /* milliseconds */
    bool search;      /* search before every APPEND (imap.search = always, of one of the servers) */
    bool has_id;      /* the message has a Message-ID, by which Sent is searched */
    const bool *left; /* of each target: a look has shown that it is to be left alone; NULL: nobody has looked */
    const struct ledger_target *targets;
    const char *const *fallbacks; /* of each; NULL: no detail names a mailbox, so none was ever used */
    size_t target_count;
    const size_t *recipients; /* the target of each, or LEDGER_NO_TARGET */
    size_t recipient_count;
};

struct plan_target {
    enum plan_action action;
    enum plan_why why;
    bool doubt;  /* it may be there: claim it with doubt */
    bool beside; /* the account has, or gets, another copy of the message: it may be where this one goes (fallback.h) */
    bool alias;  /* ... and that is where it goes, if the two names are of one mailbox: it is searched */
    bool fenced; /* that was claimed less than a hold-off ago: its delivery may still store it there */
};

struct plan {
    size_t sent;                  /* the target that is the Sent copy, or LEDGER_NO_TARGET */
    size_t sent_owner;            /* the recipient that answers for it, or LEDGER_OTHER: none of this delivery */
    bool sent_waits;              /* its claim is too recent, and that recipient must be retried for it */
    struct plan_target targets[]; /* one for each target of the request */
};

/* Never NULL; to be freed with free(3). */
struct plan *plan_make(const struct ledger_found *found, const struct plan_request *request) OD_MUST;

/* Whether a copy is to be made for this target. */
static inline bool plan_is_made(const struct plan_target *target)
{
    return target->action == PLAN_APPEND || target->action == PLAN_SEARCH;
}

/* Whether the Sent copy is to be made. */
static inline bool plan_makes_sent(const struct plan *plan)
{
    return plan->sent != LEDGER_NO_TARGET && plan_is_made(&plan->targets[plan->sent]);
}

/* Whether this delivery answers for the recipient: the results of other deliveries are theirs to record. */
static inline bool plan_goes_on(const struct plan *plan, size_t target)
{
    return target != LEDGER_NO_TARGET && plan->targets[target].action != PLAN_BUSY;
}

/* Describes a reason, as a phrase. */
const char *plan_why_text(enum plan_why why) OD_MUST;

#endif
