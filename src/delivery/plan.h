/* SPDX-License-Identifier: ISC
 *
 * Decides what to do about each target, and why: a pure function of the ledger's state and the request. "Exactly once"
 * depends on it. */
#ifndef ONCEDROP_PLAN_H
#define ONCEDROP_PLAN_H

#include "base/config.h"
#include "ledger/ledger.h"

/* What to do about a copy that the ledger has as stored. */
enum delivery_redeliver {
    REDELIVER_NO,      /* nothing: it is a duplicate */
    REDELIVER_VERIFY,  /* search, and restore it if missing */
    REDELIVER_MISSING, /* like VERIFY, but before anything is claimed (verify_is_wanted) */
    REDELIVER_LOST,    /* like MISSING, but skip what may have been deleted */
    REDELIVER_FORCE,   /* make a recipient's copy again */
};

enum plan_action {
    PLAN_BUSY,             /* leave alone: another delivery may be making it. 0: the undecided is deferred */
    PLAN_DUPLICATE,        /* nothing to do: it is stored */
    PLAN_VARIANT_HAS_COPY, /* Sent, nothing to do: a variant has the copy, or no recipient goes on */
    PLAN_SENT_FAILED,      /* Sent, nothing to do: it failed for good */
    PLAN_APPEND,
    PLAN_SEARCH, /* append it unless a search finds it */
};

enum plan_reason {
    REASON_NEW_MESSAGE,
    REASON_NEW_MAILBOX, /* for a recorded message */
    REASON_PENDING,     /* certainly not stored */
    REASON_DOUBT,       /* possibly stored */
    REASON_CUT_OFF,     /* no result within the hold-off */
    REASON_REFUSED,     /* refused permanently, and delivered again */
    REASON_STORED,
    REASON_VERIFIED,     /* stored; search requested */
    REASON_FORCED,       /* stored; further copy requested */
    REASON_UNDER_WAY,    /* claimed within the hold-off */
    REASON_VARIANT,      /* Sent: a variant has it */
    REASON_NO_RECIPIENT, /* Sent: all recipients finished or deferred */
};

struct plan_request {
    enum delivery_redeliver redeliver;
    int64_t hold_off;    /* milliseconds */
    bool search;         /* imap.search = always, for any of the servers */
    bool has_id;         /* the message has a Message-ID */
    const bool *skipped; /* per target: skip, by verification; or NULL */
    const struct ledger_target *targets;
    const char *const *fallbacks; /* per target; NULL: no detail names a mailbox */
    size_t target_count;
    const size_t *recipients; /* the target of each, or LEDGER_NO_TARGET */
    size_t recipient_count;
};

/* Sibling: another copy of this message for the same account. Variant: another message with this Message-ID. */
struct plan_target {
    enum plan_action action;
    enum plan_reason reason;
    bool doubt;             /* claim it in doubt */
    bool sibling;           /* the account has or gets a sibling, perhaps in this mailbox */
    bool same_mailbox;      /* a sibling's mailbox may be this one by another name: search */
    bool sibling_in_flight; /* a sibling was claimed within the hold-off: it may still arrive */
};

struct plan {
    size_t sent;       /* target of the Sent copy, or LEDGER_NO_TARGET */
    size_t sent_owner; /* or LEDGER_OTHER: none of this delivery */
    bool sent_waits;   /* it, a variant's or a sibling may be in flight: sent_owner must be retried */
    struct plan_target targets[];
};

/* Never returns NULL; free(3). */
struct plan *plan_make(const struct ledger_state *found, const struct plan_request *request) OD_MUST;

/* Returns true if a copy is to be made. */
static inline bool plan_makes_copy(const struct plan_target *target)
{
    return target->action == PLAN_APPEND || target->action == PLAN_SEARCH;
}

static inline bool plan_makes_sent(const struct plan *plan)
{
    return plan->sent != LEDGER_NO_TARGET && plan_makes_copy(&plan->targets[plan->sent]);
}

/* Returns true if this delivery records the recipient's result, not another one. */
static inline bool plan_goes_on(const struct plan *plan, size_t target)
{
    return target != LEDGER_NO_TARGET && plan->targets[target].action != PLAN_BUSY;
}

const char *plan_reason_text(enum plan_reason reason) OD_MUST;

#endif
