/* SPDX-License-Identifier: ISC
 *
 * The record of every message and the claims in it: what keeps each copy from being made twice. A delivery calls, in this
 * order,
 *
 *     ledger_look      tries the lock, and reads behind it what is known of the message
 *     ledger_claim     the record and the copies that will be made, committed, and the lock again: sent, not waited for
 *     ledger_hold      the results of that: only when it says LEDGER_OK may anything be appended
 *     ledger_settle    what became of the copies, committed: the commit point; and the hold for what comes next
 *     ledger_abandon   in place of settling: nothing was sent
 *
 * What is given is only read, and what comes back is new: nothing is filled in by one call for the next. Everything is
 * bounded in time. */
#ifndef ONCEDROP_LEDGER_H
#define ONCEDROP_LEDGER_H

#include "base/base.h"
#include "base/config.h"

#define LEDGER_HASH_SIZE 32

#define LEDGER_NO_ROLE "28000" /* the fault's code when the database refuses the user that the process runs as */

struct ledger;
struct decoded;

/* Connects to the database; queue_id (or NULL) is to be seen by whoever looks at its sessions. NULL with the fault set when
 * there is no connection. */
struct ledger *ledger_open(const struct config *config, const char *queue_id, struct fault *fault) OD_MUST;
void ledger_close(struct ledger **ledger);

enum ledger_result {
    LEDGER_TROUBLE, /* the fault says why */
    LEDGER_OK,
    LEDGER_BUSY, /* another delivery is at it */
};

enum copy_role { COPY_INBOX, COPY_SENT };
enum copy_state { COPY_NONE, COPY_PENDING, COPY_APPENDING, COPY_STORED, COPY_FAILED };

/* One mailbox the message belongs in. */
struct ledger_target {
    const char *account;
    const char *mailbox;
    enum copy_role role;
};

#define LEDGER_NO_TARGET SIZE_MAX /* in the place of a target's number: none */

/* One recipient of the message. */
struct ledger_recipient {
    const char *address;
    const char *original;          /* before aliases; may be NULL */
    const char *account, *mailbox; /* where it leads; NULL: nowhere, and the ledger has nothing to do with it */
};

/* A message and where it belongs. */
struct ledger_message {
    unsigned char identity[LEDGER_HASH_SIZE];
    unsigned char digest[LEDGER_HASH_SIZE];
    const char *lock_account; /* the lock is for this account's copies only; NULL: for the message */
    const char *message_id;   /* valid UTF-8, or NULL */
    const char *sender;       /* valid UTF-8 */
    const char *queue_id;     /* may be NULL */
    int64_t queued_at;        /* seconds since 1970, when Postfix received it under that queue id; 0: not known */
    int64_t received_at;      /* seconds since 1970, recorded if the message is not known */
    int64_t size;             /* bytes of data */
    const void *data;         /* for record.level = raw */
    const struct ledger_target *targets;
    size_t target_count;
    const struct ledger_recipient *recipients;
    size_t recipient_count;
};

#define LEDGER_OTHER SIZE_MAX /* in the place of a recipient's number: none of this delivery */

/* What stands in the ledger of a target. */
struct ledger_found_copy {
    enum copy_state state;    /* COPY_NONE: nothing */
    bool doubt;               /* an attempt before may have stored it */
    int64_t attempt;          /* number of the last one, 0: none */
    int64_t attempt_age_ms;   /* since it began, by the database's clock */
    int64_t first_age_ms;     /* since the first attempt */
    size_t owner;             /* the recipient for whom it was claimed, or LEDGER_OTHER: one of another delivery */
    bool owner_finished;      /* Postfix will not bring that one again */
    bool elsewhere;           /* Sent only: another content with this Message-ID has the copy, or may yet have it */
    int64_t uidvalidity, uid; /* 0: not known */
};

/* What is known of a message. */
struct ledger_found {
    bool known;                        /* it is recorded */
    int64_t received_at;               /* seconds since 1970, as recorded first: the INTERNALDATE of every copy */
    struct ledger_found_copy copies[]; /* one for each target */
};

/* Tries the lock and reads what is known behind it. With lock.wait it tries again that long: while another has the lock,
 * or a copy of ours was claimed a shorter time ago than that (its delivery has the lock again in a moment).
 *
 * LEDGER_OK       *ret is new (free(3)); the lock is held: ledger_claim or ledger_leave must follow
 * LEDGER_BUSY     another delivery holds the lock; nothing is held
 * LEDGER_TROUBLE  fault set; nothing is held */
enum ledger_result ledger_look(struct ledger *ledger, const struct ledger_message *message, struct ledger_found **ret,
                               struct fault *fault) OD_MUST;

/* Gives the lock back without a trace. held: so many recipients are told that another delivery is at it; that is counted, as
 * it is when ledger_look says LEDGER_BUSY. */
void ledger_leave(struct ledger *ledger, size_t held);

/* After LEDGER_BUSY, for the log: the session that holds the message's lock, a new string. NULL: none does now, or that is
 * not known. */
char *ledger_holder(struct ledger *ledger, const struct ledger_message *message) OD_MUST;

/* One copy that will be made. */
struct ledger_copy {
    size_t target;
    size_t recipient; /* who answers for it */
    bool doubt;       /* it may be there already */
    bool again;       /* it is stored by the ledger, and made again on purpose */
};

/* What a recipient is told, to be recorded. */
struct ledger_answer {
    size_t recipient;
    const char *outcome; /* its name; "claimed": none yet */
    const char *reason;  /* its text, or NULL */
    bool finished;       /* Postfix will not bring this recipient again */
    bool whole;          /* the message is known not to be cut short */
};

/* What this try has spent its time on so far, in milliseconds. */
struct ledger_times {
    int64_t read, lock, database, imap;
};

/* Recorded of each recipient's delivery and of this try of it, which is known by the claim. */
struct ledger_answers {
    struct ledger_answer *answers;
    size_t count;
    struct ledger_times times;
};

/* What became of a copy. */
struct ledger_made {
    size_t target;
    enum copy_state state; /* pending, appending (not known), stored, failed */
    bool doubt;
    uint32_t uidvalidity, uid; /* 0: not known */
    const char *error;         /* valid UTF-8, or NULL */
};

struct ledger_claim;

/* Behind ledger_look: records the message (decoded, unless it is known), the answers, and the copies as `appending` with
 * the next attempt number and a token of ours; commits that; when there are copies, takes the lock again, waiting at most
 * ledger_hold_wait_ms. It is sent, and not waited for: what fails is said by ledger_hold, which must follow.
 *
 * message, found: what ledger_look had and gave; the message must outlive the claim. Never NULL; ledger_claim_free. */
struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_found *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_answers answers, const struct decoded *decoded) OD_MUST;
void ledger_claim_free(struct ledger_claim **claim);

/* Waits for ledger_claim's results.
 *
 * LEDGER_OK       committed; when there are copies, the lock is held and each of them is still ours
 * LEDGER_BUSY     committed, but the lock or a copy was not to be had; ledger_abandon must follow
 * LEDGER_TROUBLE  fault set; ledger_abandon must follow */
enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault) OD_MUST;

/* All that one settling says. */
struct ledger_settling {
    const struct ledger_made *made;
    size_t made_count;
    struct ledger_answers answers;
    size_t next; /* a target of the claim not made yet, for which the lock is taken again; LEDGER_NO_TARGET: none */
};

/* Records what became of copies, each only if its attempt and token are still ours, and the answers; tells record.notify;
 * commits. What fails is tried once more on a new connection, without the lock: attempt and token suffice.
 *
 * *ret_next      whether the lock is held and that copy is still ours; when not, it is to be abandoned
 * *ret_taken     [made_count]: another delivery has taken that copy over
 *
 * Both are untouched on LEDGER_TROUBLE.
 *
 * LEDGER_OK       committed
 * LEDGER_BUSY     committed, but something was taken over
 * LEDGER_TROUBLE  fault set; as far as is known not committed */
enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim,
                                 const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                 struct fault *fault) OD_MUST;

/* Nothing was sent for the copies of the claim that are not settled: they are `pending` again where the claim is known to
 * stand, with the doubt that they were claimed with; the answers are recorded too. Gives the lock back. Best effort: what
 * cannot be undone, the hold-off releases. */
void ledger_abandon(struct ledger *ledger, struct ledger_claim *claim, struct ledger_answers answers);

/* Asks route.account_query about one address.
 *
 * *ret_found   whether it gave a row
 * ret_columns  account, inbox, sent: new strings (free(3)); NULL where the query has no such column or gave NULL
 *
 * False with the fault set: the query failed, is of a kind that has no rows, or gave more than one; the outputs are
 * untouched. */
bool ledger_lookup(struct ledger *ledger, const char *query, const char *address, bool *ret_found, char *ret_columns[3],
                   struct fault *fault) OD_MUST;

/* The wait limit of the hold: max(1 s, lock.wait), in milliseconds. */
int64_t ledger_hold_wait_ms(const struct config *config) OD_MUST;

#endif
