/* SPDX-License-Identifier: ISC
 *
 * The ledger: the record of every message, and the claims that prevent a second copy. A delivery calls ledger_read_state,
 * ledger_claim, ledger_hold, and after its APPENDs ledger_settle; or ledger_release, if nothing was sent.
 *
 * No call changes its input. All waits have a timeout. In src/ledger, functions with an error parameter set it when
 * they fail. */
#ifndef ONCEDROP_LEDGER_H
#define ONCEDROP_LEDGER_H

#include "base/base.h"
#include "base/config.h"

#define LEDGER_HASH_SIZE 32

struct ledger;
struct decoded;

/* Connects to the database. queue_id: a part of the session's name, or NULL. */
struct ledger *ledger_open(const struct config *config, const char *queue_id, struct error *error) OD_MUST;
void ledger_close(struct ledger **ledger);

/* Returns true without a usable connection; the next call reconnects. False for NULL. */
bool ledger_is_lost(const struct ledger *ledger) OD_MUST;

/* Loads the engine, as ledger_open does: before functions that take no ledger, and in a process that drops the right to
 * read the files or outlives an upgrade. */
bool ledger_load(const struct config *config, struct error *error) OD_MUST;

/* Group commit in the service (sql_engine.h). new: NULL if the database does this by itself, or memory is short. Others: see
 * there; nothing happens for NULL. */
struct sql_group *ledger_group_new(const struct config *config, size_t members) OD_MUST;
void ledger_group_join(struct sql_group *group, size_t number);
void ledger_group_write(struct sql_group *group, const struct config *config);
void ledger_group_writer_died(struct sql_group *group);
void ledger_group_leave(struct sql_group **group);

/* Returns true if a process of service.user logs in to the database as that user. */
bool ledger_login_is_service(const struct config *config) OD_MUST;

enum ledger_result {
    LEDGER_ERROR, /* error set */
    LEDGER_OK,
    LEDGER_BUSY,     /* another delivery has the lock, or may be making a copy */
    LEDGER_CONFLICT, /* the database rolled our transaction back, because of another one; error set */
};

enum copy_role { COPY_INBOX, COPY_SENT };

/* NONE: no row; PENDING: to be made; APPENDING: claimed, perhaps stored; FAILED: not retried. A claim sets APPENDING;
 * settling sets STORED, PENDING or FAILED, or leaves APPENDING; a release sets PENDING. "expired" is read as PENDING. */
enum copy_state { COPY_NONE, COPY_PENDING, COPY_APPENDING, COPY_STORED, COPY_FAILED };

struct ledger_target {
    const char *account;
    const char *mailbox;
    enum copy_role role;
    const char *refusal;      /* id of its login backoff; NULL: not read */
    const char *const *feeds; /* names of the feeds that take it, NULL-terminated; NULL: none */
};

#define LEDGER_NO_TARGET SIZE_MAX

struct ledger_recipient {
    const char *address;
    const char *original;          /* before aliases; may be NULL */
    const char *account, *mailbox; /* where the address leads; NULL: ignored here */
};

struct ledger_message {
    unsigned char identity[LEDGER_HASH_SIZE];
    unsigned char digest[LEDGER_HASH_SIZE];
    const char *message_id; /* valid UTF-8, or NULL */
    const char *sender;     /* valid UTF-8 */
    const char *queue_id;   /* may be NULL */
    int64_t queued_at;      /* when Postfix queued it, in seconds since 1970; 0: unknown */
    int64_t received_at;    /* seconds since 1970; recorded if the message is new */
    int64_t size;
    const void *data; /* for record.level = raw */
    bool dry_run;     /* writes nothing */
    const struct ledger_target *targets;
    size_t target_count;
    const struct ledger_recipient *recipients;
    size_t recipient_count;
};

#define LEDGER_OTHER SIZE_MAX /* a recipient of another delivery */

/* Login backoff of an account, shared by all hosts. delivery/login_backoff.h decides when to try again. */
struct ledger_refusal {
    int64_t refusals; /* refused logins in a row; 0: none */
    int64_t age_ms;   /* since the last one, by the database's clock; may be negative */
    int64_t wait_ms;  /* no login for this long after it */
    char reason[256]; /* valid UTF-8 */
};

struct ledger_copy_state {
    enum copy_state state; /* COPY_NONE: no row */
    bool doubt;
    int64_t generation;   /* of the last claim; 0: none */
    int64_t claim_age_ms; /* since the last claim, at least */
    int64_t first_age_ms; /* since the first claim, less a clock jump since the last */
    size_t owner;         /* recipient it was claimed for, or LEDGER_OTHER */
    bool owner_finished;
    bool recorded_today;      /* the owner's delivery of the complete message, to here, succeeded in the last day */
    bool sibling;             /* the account has a copy in another mailbox (Sent only if perhaps the same) */
    int64_t sibling_age_ms;   /* since the last claim of such a copy without a result; 0: none */
    bool same_mailbox;        /* one has it that may be the same mailbox, Sent included (same_mailbox.c) */
    bool variant_has_copy;    /* Sent: a variant has the copy */
    bool variant_in_flight;   /* Sent: a variant's copy is in flight, perhaps without a responsible delivery */
    int64_t uidvalidity, uid; /* 0: unknown */
    struct ledger_refusal refusal;
};

struct ledger_state {
    bool known;                        /* recorded */
    bool ahead;                        /* a copy without a result was claimed in the future, by the database's clock */
    int64_t received_at;               /* as first recorded, in seconds since 1970: INTERNALDATE of every copy */
    struct ledger_copy_state copies[]; /* [target_count] */
};

/* Returns how many milliseconds of the hold-off remain for a copy claimed age_ms ago; 0: it is over. Until then the server may
 * still store the copy. SQL has the same rule in macro in_hold_off (macros.sql). */
static inline int64_t ledger_hold_off_left(int64_t age_ms, int64_t hold_off_ms)
{
    return age_ms < hold_off_ms ? hold_off_ms - age_ms : 0;
}

/* Returns true if the server may still store a copy of this age: no other delivery may claim it. */
static inline bool ledger_in_hold_off(int64_t age_ms, int64_t hold_off_ms)
{
    return ledger_hold_off_left(age_ms, hold_off_ms) > 0;
}

/* Tries the lock and, once granted, reads the state of the message. Retries for lock.wait while another session has the
 * lock, or has just claimed a copy and is about to take the lock. Except in a dry run, gives claims in the future the
 * present time.
 *
 * LEDGER_OK    *ret is new (free(3)), the lock is held; ledger_claim or ledger_unlock must follow
 * LEDGER_BUSY  another delivery holds the lock */
enum ledger_result ledger_read_state(struct ledger *ledger, const struct ledger_message *message,
                                     struct ledger_state **ret, struct error *error) OD_MUST;

/* Releases the lock without a record, but counts `held` recipients deferred as after LEDGER_BUSY. */
void ledger_unlock(struct ledger *ledger, size_t held);

/* Returns the lock holder's session, for the log: a new string. NULL: none, or unknown. */
char *ledger_holder(struct ledger *ledger) OD_MUST;

/* A copy to claim. */
struct ledger_copy {
    size_t target;
    size_t recipient; /* its owner */
    bool doubt;
    bool again; /* recorded as stored; made again on purpose */
};

struct ledger_reply {
    size_t recipient;
    const char *outcome; /* "claimed": none yet */
    const char *reason;  /* may be NULL */
    bool finished;       /* Postfix will not retry this recipient */
    bool complete;       /* the message is complete */
};

/* Milliseconds elapsed in this attempt. */
struct ledger_times {
    int64_t read, lock, database, imap;
};

/* What is recorded of each recipient, and of this attempt. */
struct ledger_replies {
    struct ledger_reply *replies;
    size_t count;
    struct ledger_times times;
};

struct ledger_copy_result {
    size_t target;
    enum copy_state state; /* appending: unknown */
    bool doubt;
    uint32_t uidvalidity, uid; /* 0: unknown */
    const char *error;         /* valid UTF-8, or NULL */
};

struct ledger_claim;

/* Returns true if the database works on this host, so that a COMMIT takes no round trip of a network. */
bool ledger_in_process(const struct ledger *ledger) OD_MUST;

/* Sends the record (from `decoded`, unless the message is known), the replies, and the copies as `appending` with the
 * next generation and a new token; a COMMIT; and, if there are copies, the lock again. Does not wait: ledger_hold must
 * follow, and reports failures. The message must outlive the claim. Never returns NULL. */
struct ledger_claim *ledger_claim(struct ledger *ledger, const struct ledger_message *message,
                                  const struct ledger_state *found, const struct ledger_copy *copies, size_t copy_count,
                                  struct ledger_replies replies, const struct decoded *decoded) OD_MUST;
void ledger_claim_free(struct ledger_claim **claim);

/* Returns the state of a message that is not recorded (free(3)). */
static inline struct ledger_state *ledger_state_new(const struct ledger_message *message)
{
    struct ledger_state *found = base_alloc(sizeof(*found) + message->target_count * sizeof(found->copies[0]));
    found->received_at = message->received_at;
    for (size_t i = 0; i < message->target_count; i++)
        found->copies[i].owner = LEDGER_OTHER;
    return found;
}

/* Like ledger_read_state and ledger_claim, in one round trip. The database takes the lock, and makes the claim only if no
 * message with this identity is recorded. Waits until it has decided so, but not for the COMMIT; then the refusals of `found`
 * are set, and ledger_hold must follow.
 *
 * Returns NULL if it has decided otherwise, after any failure, and if this is not tried. ledger_read_state must follow, and
 * reports failures. Not tried: with a database in this process, with locks that may expire or are shared, for a large
 * message, and after a known one, since the next is probably known, too.
 *
 * server: claim only if the identity of this IMAP server is verified (ledger_server_read); or NULL. */
struct ledger_claim *ledger_claim_if_new(struct ledger *ledger, const struct ledger_message *message,
                                         struct ledger_state *found, const struct ledger_copy *copies,
                                         size_t copy_count, struct ledger_replies replies,
                                         const struct decoded *decoded, const char *server) OD_MUST;

/* After ledger_hold: returns false if this attempt is certainly not on record. */
bool ledger_may_have(const struct ledger_claim *claim) OD_MUST;

/* Waits for the results of ledger_claim. An APPEND may only be completed after LEDGER_OK; otherwise ledger_release must follow.
 *
 * LEDGER_OK        committed; if there are copies, all are ours and the lock is held
 * LEDGER_BUSY      committed, but the lock or a copy was not available
 * LEDGER_CONFLICT  certainly not committed */
enum ledger_result ledger_hold(struct ledger *ledger, struct ledger_claim *claim, struct error *error) OD_MUST;

struct ledger_settling {
    const struct ledger_copy_result *result;
    size_t result_count;
    struct ledger_replies replies;
    size_t next; /* target to hold next; LEDGER_NO_TARGET: none */
};

/* Commits the result of each copy whose generation and token are still ours, and the replies; sends the notification of
 * record.notify. Reconnects first if the connection was lost; after any failure, retries once on a new connection, without
 * the lock: generation and token suffice.
 *
 * *ret_next   the lock is held and copy `next` is still ours; if false, it must be released
 * ret_taken   [result_count]: another delivery has taken over, or the ledger was replaced
 *
 * LEDGER_BUSY     committed, but something was taken over
 * LEDGER_ERROR  as far as known not committed; outputs untouched */
enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim,
                                 const struct ledger_settling *settling, bool *ret_next, bool *ret_taken,
                                 struct error *error) OD_MUST;

/* Releases the lock and the unsettled copies, for which nothing was sent. If the claim is known to be committed,
 * records the replies, and makes these copies `pending` with the doubt from before. What fails is left to the
 * hold-off. */
void ledger_release(struct ledger *ledger, struct ledger_claim *claim, struct ledger_replies replies);

/* Runs route.account_query for one address. *ret_found: it returned a row. ret_columns: account, inbox, sent,
 * server: new strings (free(3)), or NULL. Fails, outputs untouched, if the query fails, cannot return rows, or
 * returns several. */
bool ledger_account_query(struct ledger *ledger, const char *query, const char *address, bool *ret_found,
                          char *ret_columns[4], struct error *error) OD_MUST;

/* ledger_refusal.c: login backoff */

#define LEDGER_REFUSAL_DAY_MS (24 * INT64_C(3600000)) /* how long a record counts */

/* Returns the id of a record, a new string. server: name_server() in login_backoff.c. */
char *ledger_refusal_id(const char *server, const char *account) OD_MUST;

/* Reads the record, outside of a transaction; zeroed if there is none. */
bool ledger_refusal_read(struct ledger *ledger, const char *id, struct ledger_refusal *ret,
                         struct error *error) OD_MUST;

/* Records a login refused just now; ignores refusal->age_ms. */
bool ledger_refusal_record(struct ledger *ledger, const char *server, const char *account,
                           const struct ledger_refusal *refusal, struct error *error) OD_MUST;

/* Records that the login succeeded. */
bool ledger_refusal_forget(struct ledger *ledger, const char *id, struct error *error) OD_MUST;

/* ledger_server.c
 * What all hosts know of an IMAP server: whether its identity is verified, that is, it honours the account that a
 * login names (mailbox_identity). To examine it costs logins, one of them refused: one process does it, and others
 * skip it. */

#define LEDGER_SERVER_VERIFIED_MS (24 * INT64_C(3600000)) /* validity of a good result */
#define LEDGER_SERVER_REFUSED_MS (10 * INT64_C(60000))    /* of a bad one: a repaired server is soon used again */

enum ledger_server {
    LEDGER_SERVER_NEW,
    LEDGER_SERVER_VERIFIED,
    LEDGER_SERVER_IGNORED,
};

/* Reads the result, outside of a transaction. *ret_due: the caller must examine the server (mailbox_server) and record
 * the result; others skip it for LEDGER_SERVER_REFUSED_MS. Always true with LEDGER_SERVER_NEW. */
bool ledger_server_read(struct ledger *ledger, const char *server, enum ledger_server *ret, bool *ret_due,
                        struct error *error) OD_MUST;

bool ledger_server_record(struct ledger *ledger, const char *server, bool verified, struct error *error) OD_MUST;

/* Returns its name in lock.method and table setting. */
const char *lock_method_name(enum lock_method method) OD_MUST;

/* Returns the hold's lock timeout in milliseconds: max(1 s, lock.wait). */
int64_t ledger_hold_wait_ms(const struct config *config) OD_MUST;

#endif
