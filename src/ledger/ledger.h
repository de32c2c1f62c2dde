/* SPDX-License-Identifier: ISC
 *
 * The SQL record and the claims in it: what keeps each copy from being made twice. A delivery calls, in this order,
 *
 *     ledger_lock      BEGIN, the try-lock, and what is known of the message and its copies
 *     ledger_claim     the record and the claimed copies, COMMIT, BEGIN, the lock again: sent, not waited for
 *     ledger_hold      their results: only when it says LEDGER_OK may anything be appended
 *     ledger_settle    what became of the copies, COMMIT (the commit point), and the hold for the Sent copy
 *
 * or, when nothing has been sent, ledger_undo. Everything is bounded in time. */
#ifndef ONCEDROP_LEDGER_H
#define ONCEDROP_LEDGER_H

#include "base/base.h"
#include "base/config.h"

#define LEDGER_HASH_SIZE 32

struct ledger;

/* Connects to the database; queue_id (or NULL) goes into application_name for pg_stat_activity.
 * NULL with the fault set when there is no connection. */
struct ledger *ledger_open(const struct config *config, const char *queue_id, struct fault *fault) OD_MUST;
void ledger_close(struct ledger **ledger);

enum ledger_result {
    LEDGER_TROUBLE,     /* the fault says why */
    LEDGER_OK,
    LEDGER_HELD,        /* another delivery is at it */
};

enum copy_role { COPY_INBOX, COPY_SENT };
enum copy_state { COPY_NONE, COPY_PENDING, COPY_APPENDING, COPY_STORED, COPY_FAILED };

#define LEDGER_OTHER SIZE_MAX

/* One mailbox the message belongs in. */
struct ledger_copy {
    /* set by the caller */
    const char *account;
    const char *mailbox;
    enum copy_role role;
    const char *recipient;      /* the delivery that answers for it */
    bool wanted;                /* the next ledger_claim, _hold, _settle or _undo is to deal with it */
    /* set by ledger_lock: what stands in the ledger */
    enum copy_state state;      /* COPY_NONE: no row */
    bool doubt;
    int64_t attempt;            /* 0: no row; ledger_claim makes it ours by adding 1 */
    int64_t attempt_age_ms;     /* by the database's clock */
    int64_t first_age_ms;       /* since the first attempt; 0 without one */
    size_t claimed_by;          /* place among the deliveries of the one that claimed it, or LEDGER_OTHER */
    bool claimed_by_finished;   /* claimed by a delivery that Postfix will not bring again */
    bool elsewhere;             /* Sent only: a variant of the message with this Message-ID has (or is making) the copy */
    int64_t uidvalidity, uid;
    /* set by the caller before ledger_settle, and meaning the same */
    enum copy_state new_state;
    bool new_doubt;
    uint32_t new_uidvalidity, new_uid;
    char error[512];            /* valid UTF-8; "": none */
};

/* One recipient of the message. */
struct ledger_delivery {
    const char *recipient;
    const char *original_recipient;     /* may be NULL */
    const char *account, *mailbox;
    const char *outcome;                /* for ledger_settle: name of the outcome ... */
    const char *reason;                 /* ... and its text */
    bool finished;                      /* Postfix will not come again with it */
    bool whole;                         /* the message is known not to be cut short */
    bool wanted;                        /* to be written by the next call */
};

struct decoded;

/* A message on its way through the ledger. */
struct ledger_claim {
    /* set by the caller */
    unsigned char identity[LEDGER_HASH_SIZE];
    unsigned char digest[LEDGER_HASH_SIZE];
    int64_t lock_key;           /* what is locked: message_lock_key, or message_account_key for some callers */
    const char *message_id;     /* valid UTF-8, or NULL */
    const char *sender;         /* valid UTF-8 */
    const char *queue_id;       /* may be NULL */
    int64_t size;
    const void *data;           /* the message's bytes, for record.level = raw; size of them */
    struct ledger_copy *copies;
    size_t copy_count;
    struct ledger_delivery *deliveries;
    size_t delivery_count;
    /* set by ledger_lock */
    bool known;                 /* the message is recorded already */
    int64_t received_at;        /* seconds since 1970: the INTERNALDATE of every copy; the caller's when not known */
    /* set by ledger_claim and ledger_hold */
    int64_t token;              /* random: tells this claim from any other */
    bool committed;             /* the claim certainly stands in the ledger */
};

/* Takes the lock in a new transaction and reads what is known. With lock.wait it tries again that long: while the lock
 * is held, or a copy of ours was claimed a shorter time ago than that (its delivery has the lock again in a moment).
 *
 * LEDGER_OK       the transaction is open and holds the lock; ledger_claim or ledger_rollback must follow
 * LEDGER_HELD     another process holds the lock; no transaction
 * LEDGER_TROUBLE  fault set; no transaction */
enum ledger_result ledger_lock(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault) OD_MUST;

/* Ends the transaction without a trace. */
void ledger_rollback(struct ledger *ledger);

/* Within ledger_lock's transaction: writes the message's record (when it is not known: decoded must be given), the
 * wanted deliveries and the wanted copies, as `appending` with the next attempt number (also one that was `stored` when
 * ledger_lock looked: then it is made again on purpose); COMMIT. When any copy is
 * wanted: BEGIN and the lock again, waiting at most max(1 s, lock.wait). Sent without waiting for the results.
 * What fails here is reported by ledger_hold, which must follow. */
void ledger_claim(struct ledger *ledger, struct ledger_claim *claim, const struct decoded *decoded);

/* Waits for ledger_claim's results.
 *
 * LEDGER_OK       committed; when copies were wanted, the transaction is open, holds the lock, and each wanted copy
 *                 is still appending with our attempt number
 * LEDGER_HELD     committed, but the lock or a copy was not to be had; ledger_undo must follow
 * LEDGER_TROUBLE  fault set; ledger_undo must follow */
enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct fault *fault) OD_MUST;

/* Writes what became of the wanted copies (new_*) and deliveries, each copy only if the attempt is still ours; NOTIFY;
 * COMMIT. When the session was lost, connects anew and settles by attempt number.
 *
 * next  a copy of ours, appending, that the transaction opened next shall hold, or NULL. *ret_next says whether it
 *       does; when not, the copy stays appending, to be undone.
 *
 * LEDGER_OK       committed
 * LEDGER_HELD     committed, but an attempt was not ours any more: that copy's new_state is COPY_NONE now
 * LEDGER_TROUBLE  fault set; as far as is known not committed */
enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_copy *next,
                                 bool *ret_next, struct fault *fault) OD_MUST;

/* Nothing was sent for the wanted copies: makes them `pending` again where the claim is ours and known to stand; doubt
 * stays; the wanted deliveries are written too. Ends an open transaction. Best effort: what cannot be undone, the
 * hold-off releases. */
void ledger_undo(struct ledger *ledger, struct ledger_claim *claim);

/* Runs route.account_query with one address.
 *
 * *ret_found   whether it gave a row
 * ret_columns  account, inbox, sent: new strings (free(3)); NULL where the query has no such column or gave NULL
 *
 * False with the fault set: the query failed, is of a kind that has no rows, or gave more than one; the outputs are
 * untouched. */
bool ledger_lookup(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                                 char *ret_columns[3], struct fault *fault) OD_MUST;

/* The wait limit of the hold: max(1 s, lock.wait), in milliseconds. */
int64_t ledger_hold_wait_ms(const struct config *config) OD_MUST;

#endif
