/* SPDX-License-Identifier: ISC
 *
 * The record of every message and the claims in it, which keep each copy from being made twice. A delivery calls, in
 * this order:
 *
 *    ledger_look      tries the lock, then reads what is known of the message
 *    ledger_claim     records the message and the copies to be made, commits, and takes the lock again; sends this
 *                     without waiting for the results
 *    ledger_hold      waits for the results; only after LEDGER_OK may anything be appended
 *    ledger_settle    records the result of each copy and commits: the commit point; also holds what comes next
 *    ledger_abandon   instead of settling: nothing was sent
 *
 * Arguments are only read and results are new objects: no call fills in anything for the next. All waits are bounded. */
#ifndef ONCEDROP_LEDGER_H
#define ONCEDROP_LEDGER_H

#include "base/base.h"
#include "base/config.h"

#define LEDGER_HASH_SIZE 32

struct ledger;
struct decoded;

/* Connects to the database. queue_id (or NULL) is shown in its list of sessions. NULL with the fault set if there is no
 * connection. */
struct ledger *ledger_open(const struct config *config, const char *queue_id, struct fault *fault) OD_MUST;
void ledger_close(struct ledger **ledger);

/* Whether the last call found that there is no connection any more, and could not make another. NULL: false. */
bool ledger_is_lost(const struct ledger *ledger) OD_MUST;

/* Loads what the database of this configuration takes; ledger_open does so itself. To be called before the functions that
 * need no ledger, and by a process that gives up the right to read the files, or outlives an upgrade. False with the fault
 * set if it is missing. */
bool ledger_load(const struct config *config, struct fault *fault) OD_MUST;

/* Whether a process that runs as service.user would log in to the database as that user, since no other user is
 * configured. */
bool ledger_login_is_service(const struct config *config) OD_MUST;

enum ledger_result {
    LEDGER_TROUBLE, /* the fault says why */
    LEDGER_OK,
    LEDGER_BUSY,     /* another delivery is delivering the message */
    LEDGER_CONFLICT, /* another one's transaction was first, so that ours is undone; the fault says why */
};

enum copy_role { COPY_INBOX, COPY_SENT };
enum copy_state { COPY_NONE, COPY_PENDING, COPY_APPENDING, COPY_STORED, COPY_FAILED };

/* A mailbox that the message belongs in. */
struct ledger_target {
    const char *account;
    const char *mailbox;
    enum copy_role role;
    const char *refusal; /* ledger_refusal_id of the account, if its record is to be read; NULL: it is not */
};

#define LEDGER_NO_TARGET SIZE_MAX /* instead of the number of a target: none */

/* A recipient of the message. */
struct ledger_recipient {
    const char *address;
    const char *original;          /* before aliases; may be NULL */
    const char *account, *mailbox; /* where the address leads; NULL: nowhere, so the ledger ignores this recipient */
};

/* A message and where it belongs. */
struct ledger_message {
    unsigned char identity[LEDGER_HASH_SIZE];
    unsigned char digest[LEDGER_HASH_SIZE];
    const char *message_id; /* valid UTF-8, or NULL */
    const char *sender;     /* valid UTF-8 */
    const char *queue_id;   /* may be NULL */
    int64_t queued_at;      /* seconds since 1970, when Postfix received it under that queue id; 0: unknown */
    int64_t received_at;    /* seconds since 1970, recorded if the message is new */
    int64_t size;           /* bytes of data */
    const void *data;       /* for record.level = raw */
    bool dry_run;           /* only look: write nothing */
    const struct ledger_target *targets;
    size_t target_count;
    const struct ledger_recipient *recipients;
    size_t recipient_count;
};

#define LEDGER_OTHER SIZE_MAX /* instead of the number of a recipient: one of another delivery */

/* Refused logins of an account, in a row (ledger_refusal.h). */
struct ledger_refusal {
    int64_t refusals; /* how many; 0: none is recorded */
    int64_t age_ms;   /* since the last one, by the database's clock; negative if that was set back */
    int64_t wait_ms;  /* for how long after it the account was not to be tried */
    char reason[256]; /* valid UTF-8 */
};

/* What the ledger knows about a target. */
struct ledger_found_copy {
    enum copy_state state;    /* COPY_NONE: not in the ledger */
    bool doubt;               /* an earlier attempt may have stored it */
    int64_t attempt;          /* number of the last attempt; 0: none */
    int64_t attempt_age_ms;   /* since the last attempt began, at least; not negative */
    int64_t first_age_ms;     /* since the first attempt began, less a jump since the last one; not negative */
    size_t owner;             /* the recipient it was claimed for, or LEDGER_OTHER: one of another delivery */
    bool owner_finished;      /* Postfix will not retry that recipient */
    bool told;                /* that recipient's delivery of all of it ended well, here, and less than a day ago */
    bool beside;              /* another mailbox of the account has a copy; Sent does not count, except for an alias */
    int64_t beside_age_ms;    /* since the last attempt at such a copy without a result began, at least 1; 0: none */
    bool alias;               /* one has, Sent included, whose name may be another one of this mailbox (alias.h) */
    bool elsewhere;           /* Sent only: another content with this Message-ID has the copy, or may still get it */
    bool elsewhere_under_way; /* Sent only: another content's copy may still be stored */
    bool variant_waits;       /* Sent only: the same, but perhaps no delivery is responsible for that copy any more */
    int64_t uidvalidity, uid; /* 0: unknown */
    struct ledger_refusal refusal; /* if the target asks for it */
};

/* What the ledger knows about a message. */
struct ledger_found {
    bool known;                        /* it is recorded */
    bool ahead;                        /* by the database's clock, a copy without a result was claimed in the future */
    int64_t received_at;               /* seconds since 1970, as first recorded: the INTERNALDATE of every copy */
    struct ledger_found_copy copies[]; /* one for each target */
};

/* Returns for how long a copy that was claimed so long ago is left alone, since the server may still store it, in milliseconds;
 * 0: its hold-off is over. SQL has the same rule in word in_hold_off (words.sql). */
static inline int64_t ledger_hold_off_left(int64_t age_ms, int64_t hold_off_ms)
{
    return age_ms < hold_off_ms ? hold_off_ms - age_ms : 0;
}

/* Returns true if no other delivery may claim that copy. */
static inline bool ledger_in_hold_off(int64_t age_ms, int64_t hold_off_ms)
{
    return ledger_hold_off_left(age_ms, hold_off_ms) > 0;
}

/* Tries the lock and, once it is ours, reads what is known. Unless it is a dry run, a claim whose time is in the future first gets
 * the present time. With lock.wait, retries for that long while another session
 * has the lock, or while one of our copies was claimed more recently than that (its delivery is about to take the lock
 * again).
 *
 * LEDGER_OK       *ret is new (free(3)); the lock is held; ledger_claim or ledger_leave must follow
 * LEDGER_BUSY     another delivery holds the lock; nothing is held
 * LEDGER_TROUBLE  fault set; nothing is held */
enum ledger_result ledger_look(struct ledger *ledger, const struct ledger_message *message, struct ledger_found **ret,
                               struct fault *fault) OD_MUST;

/* Releases the lock; leaves no record of this delivery. held: how many recipients will be told that another delivery is
 * delivering the message. They are counted in the statistics, as when ledger_look returns LEDGER_BUSY. */
void ledger_leave(struct ledger *ledger, size_t held);

/* After LEDGER_BUSY, for the log: the session that holds the message's lock, a new string. NULL: nobody does now, or it is
 * unknown. */
char *ledger_holder(struct ledger *ledger) OD_MUST;

/* A copy to be made. */
struct ledger_copy {
    size_t target;
    size_t recipient; /* the recipient that answers for it */
    bool doubt;       /* it may already be there */
    bool again;       /* already stored by the record, and made again on purpose */
};

/* The answer for a recipient, to be recorded. */
struct ledger_answer {
    size_t recipient;
    const char *outcome; /* its name; "claimed": none yet */
    const char *reason;  /* its text, or NULL */
    bool finished;       /* Postfix will not retry this recipient */
    bool whole;          /* the message is known to be complete */
};

/* The time spent by this try so far, in milliseconds. */
struct ledger_times {
    int64_t read, lock, database, imap;
};

/* What is recorded of each recipient's delivery, and of this try (the claim identifies it). */
struct ledger_answers {
    struct ledger_answer *answers;
    size_t count;
    struct ledger_times times;
};

/* The result of a copy. */
struct ledger_made {
    size_t target;
    enum copy_state state; /* pending, appending (unknown), stored, failed */
    bool doubt;
    uint32_t uidvalidity, uid; /* 0: unknown */
    const char *error;         /* valid UTF-8, or NULL */
};

struct ledger_claim;

/* Whether the database works in this process: then ledger_claim returns when it has committed; else both go on meanwhile. */
bool ledger_works_here(const struct ledger *ledger) OD_MUST;

/* Follows ledger_look. Records the message (from its decoded form, unless it is known), the answers, and the copies as
 * `appending` with the next attempt number and a new token; commits; then, if there are copies, takes the lock again,
 * waiting at most ledger_hold_wait_ms. All this is sent without waiting for results: ledger_hold, which must follow,
 * reports failures.
 *
 * message, found: the input and the result of ledger_look; the message must outlive the claim. Never NULL;
 * ledger_claim_free. */
struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_found *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_answers answers, const struct decoded *decoded) OD_MUST;
void ledger_claim_free(struct ledger_claim **claim);

/* After ledger_hold: whether this try is on record, or may be; false only if that is certain. */
bool ledger_may_have(const struct ledger_claim *claim) OD_MUST;

/* Waits for the results of ledger_claim.
 *
 * LEDGER_OK       committed; if there are copies, the lock is held and each of them is still ours
 * LEDGER_BUSY     committed, but the lock or a copy was not available; ledger_abandon must follow
 * LEDGER_CONFLICT fault set; certainly not committed; ledger_abandon must follow
 * LEDGER_TROUBLE  fault set; ledger_abandon must follow */
enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault) OD_MUST;

/* Everything that one settling records. */
struct ledger_settling {
    const struct ledger_made *made;
    size_t made_count;
    struct ledger_answers answers;
    size_t next; /* a target of the claim that is not made yet, and that needs the lock again; LEDGER_NO_TARGET: none */
};

/* Records the result of each copy, if its attempt and token are still ours, and the answers; sends record.notify's
 * notification; commits. If this fails, tries once more on a new connection, without the lock: attempt and token
 * suffice.
 *
 * *ret_next      whether the lock is held and copy `next` is still ours; if not, that copy must be abandoned
 * *ret_taken     [made_count]: another delivery has taken that copy over, or the ledger was replaced by one without it
 *
 * Both are untouched on LEDGER_TROUBLE.
 *
 * LEDGER_OK       committed
 * LEDGER_BUSY     committed, but something was taken over
 * LEDGER_TROUBLE  fault set; as far as we know not committed */
enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim,
                                 const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                 struct fault *fault) OD_MUST;

/* Gives back the claim's copies that are not settled, for which nothing was sent. If the claim is known to be
 * committed, they become `pending` again, with the doubt they had when claimed; the answers are recorded too. Releases
 * the lock. Best effort: what cannot be undone here becomes free after the hold-off. */
void ledger_abandon(struct ledger *ledger, struct ledger_claim *claim, struct ledger_answers answers);

/* Runs route.account_query for one address.
 *
 * *ret_found   whether it returned a row
 * ret_columns  account, inbox, sent, server: new strings (free(3)); NULL where the query has no such column or returned NULL
 *
 * False with the fault set: the query failed, is of a kind that returns no rows, or returned more than one; the outputs
 * are untouched. */
bool ledger_lookup(struct ledger *ledger, const char *query, const char *address, bool *ret_found, char *ret_columns[4],
                   struct fault *fault) OD_MUST;

/* The name of a method in lock.method and in table agreed. */
const char *lock_method_name(enum lock_method method) OD_MUST;

/* How long the hold waits for the lock: max(1 s, lock.wait), in milliseconds. */
int64_t ledger_hold_wait_ms(const struct config *config) OD_MUST;

#endif
