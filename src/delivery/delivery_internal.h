/* SPDX-License-Identifier: ISC
 *
 * What the files of delivery/ share: targets and results, the copies, then server.c, claim.c and reply.c. The order of the
 * steps is in deliver.c; plan.h, sessions.h and presence.h stand alone. */
#ifndef ONCEDROP_DELIVERY_INTERNAL_H
#define ONCEDROP_DELIVERY_INTERNAL_H

#include "delivery/delivery.h"
#include "delivery/plan.h"

#define NO_TIME_LEFT "no time was left for it (delivery.deadline)"

/* targets.c
 * Where a message belongs: each recipient's mailbox once, and the sender's Sent mailbox. */

struct targets {
    struct ledger_message message;
    struct ledger_target *list;    /* Sent, if any, is last */
    const struct config **servers; /* per target (config_server) */
    const char **fallbacks;        /* per target: mailbox if it cannot be created, or NULL */
    const char **feeds;            /* lists of names, for the targets; or NULL */
    struct ledger_recipient *recipients;
    size_t *of_recipient;           /* target, or LEDGER_NO_TARGET: not routed */
    size_t *order;                  /* random, so that at each retry others run out of time */
    struct route sender;            /* of the Sent copy */
    char *message_id, *sender_text; /* valid UTF-8 */
};

/* Routes recipients and sender, and reports what cannot be routed; returns false if nothing is left. *ret must be
 * cleared. */
bool targets_collect(struct delivery *delivery, struct targets *ret) OD_MUST;

/* Removes the server's targets; their recipients, which have reports, count as not routed. */
void targets_leave_out(struct targets *targets, size_t recipient_count, const struct config *server);

size_t targets_first_recipient(const struct targets *targets, size_t target) OD_MUST;

void targets_clear(struct targets *targets);

/* The state of a delivery. Later steps only refine a copy's result, or find the message incomplete. */

struct delivery_work {
    const struct delivery_request *request;
    struct delivery *delivery;
    struct targets targets;
    char **refusals; /* per target: ledger_refusal_id(), or NULL */
    struct ledger_state *found;
    struct plan *plan;
    bool *skipped; /* per target: skipped by verification; or NULL */
    struct ledger_claim *claim;
    struct append_op *appends;
    struct copy_result *results;
    bool read_only; /* verification: reused sessions will do */
    bool complete;  /* the message is known to be complete */
};

/* An append item: what is stored for a target, and where. */
struct append_item {
    size_t target;
    bool doubt;                   /* an earlier attempt may have stored it there */
    const struct message *notice; /* in place of the message (quarantine.c), or NULL */
    const char *fallback;         /* in place of the target's mailbox (fallback.c), or NULL */
};

static inline struct append_item append_item_planned(const struct delivery_work *work, size_t target)
{
    return (struct append_item){.target = target, .doubt = work->plan->targets[target].doubt};
}

static inline const struct config *target_server(const struct delivery_work *work, size_t target)
{
    return work->targets.servers[target];
}

static inline const char *append_item_mailbox(const struct delivery_work *work, const struct append_item *item)
{
    return item->fallback != NULL ? item->fallback : work->targets.list[item->target].mailbox;
}

/* delivery_backoff.c */

/* Before ledger_read_state(): adds the records of accounts that need a login to its batch. */
void delivery_backoff_ask(struct delivery_work *work);

/* After ledger_read_state(): passes the records on, for sessions_acquire(). */
void delivery_backoff_learn(struct delivery_work *work);

/* copy_result.c
 * The result of a copy. Decides what an APPEND's result means: stored, deferred, bounced, or a notice instead (quarantine). */

enum quarantine {
    QUARANTINE_NONE,
    QUARANTINE_DUE, /* store a notice with the message attached */
    QUARANTINE_STORED,
};

/* The result of a copy. */
struct copy_result {
    enum copy_state state;     /* not tried yet if COPY_NONE */
    bool doubt;                /* it may be there, in any state */
    uint32_t uidvalidity, uid; /* 0: unknown */
    bool impossible;           /* the mailbox cannot be created */
    const char *fallback;      /* mailbox tried last; NULL: the target's */
    enum quarantine quarantine;
    struct report report;
};

/* Returns the time that a copy needs at most, even if its server times out, and its settling. */
int64_t append_time_ms(const struct delivery_work *work, size_t target) OD_MUST;

/* Returns true if the copy can be made and settled before the deadline, even if its server times out: the deadline
 * would end the process before it settles earlier copies. */
bool append_fits_deadline(const struct delivery_work *work, size_t target) OD_MUST;

/* Sets the result by that of an APPEND, or of a search that failed (APPEND_NOT_SENT), except UIDVALIDITY and UID. */
void copy_result_of_append(const struct delivery_work *work, const struct append_item *item,
                           enum append_result append_result, const struct error *error, struct copy_result *result);

/* append.c
 * APPENDs in steps, so that several are in flight: begin while the claim is committed, send once the copy is held,
 * collect. Precondition: a session is available for the account. */

struct append_op {
    struct append_item item;
    bool begun;              /* there is a result to collect */
    bool unreachable;        /* no session for the preceding search */
    bool postponed;          /* opening the session timed out: retry it last */
    bool reused;             /* the session is reused: the server may have closed it */
    struct mailbox *mailbox; /* NULL: none could be opened */
    struct error error;
    struct iovec *pieces;
};

/* Opens the session and sends the command, and the literal except its last byte if the server takes it early. Without
 * that byte nothing can be stored (mailbox_append_begin), so the claim need not be committed. Returns false without a
 * session. Then nothing is begun if a retry may succeed: after sessions are released, or after the first open that
 * exceeds limit_ms. */
bool append_begin(struct delivery_work *work, const struct append_item *item, enum sessions_age age, int64_t limit_ms);

/* Sends the last byte; or waits for '+' until until_ms (base_now_ms), and sends the literal. */
void append_send(struct delivery_work *work, size_t target, int64_t until_ms);

/* Waits for the response. Retries once if a reused session was lost before the literal was sent: before until_ms, or if
 * no other copy waits (alone). */
struct copy_result append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone) OD_MUST;

/* Instead of append_send(): closes the session, as its server waits for the literal. */
void append_cancel(struct delivery_work *work, size_t target);

/* Executes all steps. */
struct copy_result append_now(struct delivery_work *work, const struct append_item *item) OD_MUST;

/* search.c */

/* Opens the session for a later search. Precondition: it is available. */
void search_open(struct delivery_work *work, size_t target);

/* Searches for the message, and for a notice in its place if there can be one; in doubt on a new session. SEARCH_PRESENT:
 * the result is stored. SEARCH_UNKNOWN: deferred, and never taken for absent. */
enum search_result search_copy(struct delivery_work *work, const struct append_item *item,
                               struct copy_result *result) OD_MUST;

/* After SEARCH_MISSING: finds out why by the recorded UID (presence_explain_missing). */
enum search_result search_explain_missing(struct delivery_work *work, size_t target, struct error *error) OD_MUST;

/* verify.c */

/* Searches for each copy that the ledger has as stored. Precondition: there is a plan, and the lock is held.
 *
 * Returns a new array of targets to skip, and sets their reports: present, perhaps deleted (REDELIVER_LOST), not verified
 * or, with REDELIVER_MISSING and REDELIVER_LOST, never stored. The search before the APPEND confirms the absence of others. */
bool *verify_copies(struct delivery_work *work) OD_MUST;

/* fallback.c
 * The inbox, for mail to a folder that the address's detail names and that cannot be created.
 *
 * The ledger has the copy as the folder's: if its mailbox changed between attempts, both could get the message. The
 * inbox is searched for it in doubt, and before the inbox gets its own copy (plan.c). */

/* After SEARCH_MISSING in the folder, searches the inbox if the copy is in doubt. If the account has a sibling
 * copy, which the search would find, fallback_append() decides instead. Returns false with the result set, or true: append the
 * copy, which the inbox may have if the item is in doubt. */
bool fallback_search(struct delivery_work *work, struct append_item *item, struct copy_result *result) OD_MUST;

/* If the folder cannot be created: searches the inbox if necessary, appends there, and replaces the result. Defers if
 * time is short or a sibling may arrive there. Precondition: the account's other copies were tried. */
void fallback_append(struct delivery_work *work, size_t target);

/* Returns true if a sibling by this delivery may still arrive in the mailbox: a search that does not find it proves
 * nothing. */
bool fallback_awaits(const struct delivery_work *work, size_t target, const char *mailbox) OD_MUST;

/* quarantine.c
 * delivery.refused = quarantine: after a server refused a message for longer than delivery.refuse_after, stores a
 * notice with the message attached (decode/notice.c). The notice is a copy like any other: claimed, held, searched
 * for in doubt. */

/* If the copy is QUARANTINE_DUE, searches for the message, which the refusal left in doubt, appends the notice, and
 * replaces the result. Failures defer: a refused notice never bounces the message. Precondition: the copy is held. */
void quarantine_append(struct delivery_work *work, size_t target);

/* copy.c */

/* Makes a copy: searches if the plan says so, appends on the same session, sets the result. Leaves refusals to
 * fallback.c and quarantine.c. Precondition: the copy is held. */
void copy_make(struct delivery_work *work, size_t target);

/* inboxes.c
 * The recipients' copies: appended concurrently, settled together. */

/* Returns true if any is planned. */
bool inboxes_any(const struct delivery_work *work) OD_MUST;

/* Returns true if one is planned and its session is open: inboxes_begin() does not block. */
bool inboxes_open(const struct delivery_work *work) OD_MUST;

/* Begins APPENDs (append_begin), while the claim is committed or before. */
void inboxes_begin(struct delivery_work *work);

/* Instead of inboxes_deliver(): closes these sessions. */
void inboxes_cancel(struct delivery_work *work);

/* After the hold: appends and settles the copies, and sets the reports. Returns true if the Sent copy is held now. */
bool inboxes_deliver(struct delivery_work *work) OD_MUST;

/* sent.c */

/* Makes the Sent copy, after the recipients' copies. If it is not held, or time is short, releases its claim. first:
 * nothing was appended before, so time is no reason. */
void sent_deliver(struct delivery_work *work, bool held, bool first);

/* server.c */

/* Verifies that a server with one credential for all accounts opens the account that a login names. The ledger has the
 * result for all hosts. If it is unknown or a day old, tests an account of this delivery; temporary failures keep an
 * earlier result. Returns false with the reports set if nothing may be appended. Precondition: no lock is taken. */
bool server_identity_verified(struct delivery_work *work) OD_MUST;

/* Returns true if at most one server's identity is still to be verified by the ledger: *ret is its name, a new string, or
 * NULL. */
bool server_to_verify(const struct delivery_work *work, char **ret) OD_MUST;

/* The identities of the delivery's servers were found to be verified. */
void server_verified(const struct delivery_work *work);

/* claim.c
 * A claim: from the COMMIT of copies as `appending` to the COMMIT of their results. */

/* Commits the planned copies, the message and the present replies (ledger_claim). if_new: by ledger_claim_if_new; then there
 * may be no claim. server: see there. */
void claim_copies(struct delivery_work *work, bool if_new, const char *server);

/* Settles the recipients' copies or, if `sent`, the Sent copy: the commit point. A success that could not be recorded
 * becomes a deferral. Returns true if the Sent copy is held now. */
bool claim_settle(struct delivery_work *work, bool sent);

/* Releases what is not settled. Precondition: nothing of the message was sent for it. */
void claim_release(struct delivery_work *work);

/* reply.c
 * Sets the recipients' replies (struct report), and passes them to the ledger. */

/* Sets this report for every routed recipient that has none. */
void reply_rest(struct delivery_work *work, enum outcome outcome, const char *text);

/* Reports that another delivery is delivering the message. */
void reply_busy(struct delivery_work *work);

/* Defers all recipients that go on (plan_goes_on): the ledger could not record their results, and without a retry by
 * Postfix the delivery would stay open for ever. */
void reply_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);

/* Reports what follows from the plan: duplicates, and copies that another delivery is making. */
void reply_by_plan(struct delivery_work *work);

void reply_preview(struct delivery_work *work);

/* Returns the present replies to recipients that go on. */
struct ledger_replies reply_record(const struct delivery_work *work) OD_MUST;
void reply_clear(struct ledger_replies *replies);

/* Sets the Sent copy's result for the log. failed: not retried. */
void reply_log_sent(struct delivery_work *work, const struct report *report, uint32_t uid, bool failed);

/* Defers the owner of the Sent copy, if that recipient's delivery succeeded: Postfix retries until that copy is made. */
void reply_sent(struct delivery_work *work, enum outcome outcome, const char *text);

/* Returns true if nothing is left to record, and the request allows to skip the COMMIT: all copies are stored, and
 * today's record has each recipient. Common if an archive is replayed again. */
bool reply_is_recorded(const struct delivery_work *work) OD_MUST;

#endif
