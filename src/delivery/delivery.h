/* SPDX-License-Identifier: ISC
 *
 * A delivery: request, results and calls. */
#ifndef ONCEDROP_DELIVERY_H
#define ONCEDROP_DELIVERY_H

#include "base/config.h"
#include "decode/decode.h"
#include "delivery/outcome.h"
#include "delivery/plan.h"
#include "delivery/sessions.h"
#include "ledger/ledger.h"
#include "route/route.h"

struct delivery_recipient {
    const char *address;
    const char *original;         /* before Postfix rewrote it; may be NULL */
    const struct address *parsed; /* NULL: not parsed yet */
};

enum delivery_phase {
    PHASE_READ, /* and decoding */
    PHASE_LOCK,
    PHASE_DATABASE, /* connecting, routes, claim, hold */
    PHASE_IMAP,     /* connecting, login, search, APPEND */
    PHASE_SETTLE,   /* the commit point */
    PHASE_COUNT,
};

struct delivery_sent {
    char *account, *mailbox; /* NULL: nothing to report */
    struct report report;
    bool failed; /* it is not retried */
    uint32_t uid;
};

struct delivery_request {
    const struct config *config;
    struct sessions *sessions;
    const struct message *message; /* NULL only for delivery_refuse() */
    const char *sender;            /* "" for a bounce */
    const char *sasl_user;         /* SASL login of the submission; "": none; NULL: unknown, see Received */
    const char *only_login;        /* deliver only to this login's account, without a Sent copy; NULL: no restriction */
    const struct route *sender_route; /* as recorded, without account if no Sent copy is due; NULL: unknown */
    const char *queue_id;             /* NULL: unknown */
    int64_t queued_at;                /* seconds since 1970, when Postfix queued it; 0: unknown */
    int64_t received_at;              /* INTERNALDATE if the message is new; 0: now */
    bool complete;                    /* the message had an end mark */
    enum delivery_redeliver redeliver;
    const char *only_account; /* verify this account's copies only; NULL: all */
    bool id_only;             /* only the Message-ID is known: search by it; only with dry_run */
    bool dry_run;             /* only report what would be done */
    bool skip_recorded;       /* no COMMIT if reply_is_recorded() */
    /* For a message without end mark, or NULL. Returns true if the peer closed: the message may be incomplete, and the
     * delivery stops. Called after the claim and before each APPEND. */
    bool (*peer_closed)(void *context);
    void *reader;
    const struct delivery_recipient *recipients;
    size_t recipient_count;
};

static inline const char *delivery_queue_id(const struct delivery_request *request)
{
    return request->queue_id != NULL ? request->queue_id : "NOQUEUE";
}

/* Returns true if copies are verified in their mailboxes before anything is claimed (verify.c): for dry runs, and `restore`,
 * which records nothing about present copies. */
static inline bool verify_is_wanted(const struct delivery_request *request)
{
    return request->redeliver == REDELIVER_MISSING || request->redeliver == REDELIVER_LOST ||
           (request->redeliver == REDELIVER_VERIFY && request->dry_run);
}

struct delivery_reply {
    struct report report;
    struct route route; /* if known */
    uint32_t uid;       /* in delivery_mailbox(); 0: unknown */
    const char *filed;  /* the mailbox it was stored in; NULL: route.inbox */
};

static inline const char *delivery_mailbox(const struct delivery_reply *reply)
{
    return reply->filed != NULL ? reply->filed : reply->route.inbox;
}

/* The caller sets the members down to `started_ms`. */
struct delivery {
    const struct delivery_request *request;
    struct ledger *ledger;          /* needed by delivery_run() */
    int64_t started_ms;             /* base_now_ms() when reading began */
    int64_t phase_ms[PHASE_COUNT];  /* by delivery_add_time() */
    struct delivery_reply *replies; /* one per recipient */
    struct delivery_sent sent;
    char *holder; /* session that held the lock, or NULL */
    struct decoding *decoding;
    bool recorded; /* the ledger has this attempt, or may have it */
};

/* Adds the time since the last call. All phases add up to the elapsed time. */
void delivery_add_time(struct delivery *delivery, enum delivery_phase phase);

/* Starts to decode the message while the caller connects. Optional: delivery_run() retries after a failure
 * (error set). */
void delivery_begin(struct delivery *delivery, struct error *error);

/* Restarts the deadline, delivers, and sets the results. */
void delivery_run(struct delivery *delivery);

/* Instead of delivery_run(): sets this report for all recipients. */
void delivery_refuse(struct delivery *delivery, enum outcome outcome, const char *text);

void delivery_clear(struct delivery *delivery);

/* Returns true with the error set if the account must not be tried now (login_backoff.h). Tries no login. */
bool delivery_backoff_now(struct ledger *ledger, struct sessions *sessions, const struct config *config,
                          const char *account, struct error *error) OD_MUST;

/* Signal handler, async-signal-safe: logs a line for each recipient if delivery_run() is in progress. */
void delivery_log_end(int signal);

/* Prepares those lines, for delivery_run(). */
void delivery_keep_log(const struct delivery *delivery);

/* Logs recipients and Sent copy; the values of delays= add up to delay=. Counts recipients that the ledger defers and
 * has not recorded (log.unrecorded_file). */
void delivery_log(const struct delivery *delivery);

#endif
