/* SPDX-License-Identifier: ISC
 *
 * A delivery: what is asked for, what came of it, and the calls that the ways in make: deliver.c, delivery_log.c. */
#ifndef ONCEDROP_DELIVERY_H
#define ONCEDROP_DELIVERY_H

#include "base/config.h"
#include "decode/decoding.h"
#include "delivery/outcome.h"
#include "delivery/plan.h"
#include "delivery/sessions.h"
#include "ledger/ledger.h"
#include "route/route.h"

struct delivery_recipient {
    const char *address;          /* envelope recipient */
    const char *original;         /* before Postfix rewrote it; may be NULL */
    const struct address *parsed; /* the parsed address, if the caller has it; NULL: not parsed yet */
};

/* The phases of a delivery for which time is measured. */
enum delivery_phase {
    PHASE_READ,     /* reading and decoding the message */
    PHASE_LOCK,     /* until the lock is granted */
    PHASE_DATABASE, /* connecting, routes, the claim and the hold */
    PHASE_IMAP,     /* connecting, login, searching, appending */
    PHASE_SETTLE,   /* the commit point */
    PHASE_COUNT,
};

/* The result for the Sent copy, if this delivery was concerned with it. */
struct delivery_sent {
    char *account, *mailbox; /* NULL: not concerned */
    struct report report;
    bool failed; /* given up */
    uint32_t uid;
};

/* One message, its recipients, and how to deliver it. */
struct delivery_request {
    const struct config *config;
    struct sessions *sessions;
    const struct message *message; /* NULL: for delivery_refuse only */
    const char *sender;            /* envelope sender, "" for a bounce */
    const char *sasl_user;         /* SASL login of the submission; "": there was none; NULL: unknown, see Received */
    const char *only_login; /* deliver to this login name's account only, and trust nothing said about the sender;
                               NULL: no such restriction */
    const struct route *sender_route; /* as recorded; its account NULL: no Sent copy is due. NULL: not known */
    const char *queue_id;             /* NULL: unknown */
    int64_t queued_at;                /* seconds since 1970, when Postfix received it under that id; 0: unknown */
    int64_t received_at;              /* seconds since 1970, INTERNALDATE of a new message; 0: now */
    bool whole;                       /* the message had an end mark */
    enum delivery_again again;
    const char *only_account; /* a look is for this account's copies, and leaves others alone (look.h); NULL: for all */
    bool id_only; /* of the message nothing but the Message-ID is known, by which it is looked for; only with dry_run */
    bool dry_run; /* only report what would be done, and why; write nothing */
    bool spare;   /* what is on record already need not be recorded once more today: nobody waits for an answer */
    /* For a message without end mark, called after the claim and before each APPEND. True: it may be incomplete, and the
     * delivery stops. NULL: never. */
    bool (*reader_gone)(void *context);
    void *reader; /* that context */
    const struct delivery_recipient *recipients;
    size_t recipient_count;
};

/* For the log. */
static inline const char *delivery_queue_id(const struct delivery_request *request)
{
    return request->queue_id != NULL ? request->queue_id : "NOQUEUE";
}

/* The result for one recipient. */
struct delivery_answer {
    struct report report;
    struct route route; /* if known */
    uint32_t uid;       /* in delivery_mailbox, if known */
    const char *filed;  /* the mailbox it was stored in, if that is not route.inbox; NULL: it is */
};

/* The mailbox that `uid` is in; NULL: not known. */
static inline const char *delivery_mailbox(const struct delivery_answer *answer)
{
    return answer->filed != NULL ? answer->filed : answer->route.inbox;
}

/* A delivery and its results. The caller sets everything down to `started_ms`. */
struct delivery {
    const struct delivery_request *request;
    struct ledger *ledger;           /* not needed before delivery_run */
    int64_t started_ms;              /* base_now_ms() when reading began */
    int64_t spent_ms[PHASE_COUNT];   /* since then, by delivery_spent */
    struct delivery_answer *answers; /* one for each recipient; set by delivery_run and delivery_refuse */
    struct delivery_sent sent;       /* set by delivery_run */
    char *holder;                    /* set by delivery_run: the session that held the lock; NULL: none, or not known */
    struct decoding *decoding;       /* NULL until delivery_begin or delivery_run */
    bool recorded;                   /* set by delivery_run: the ledger has this try, or may have it */
};

/* Adds the time since the last call, or since started_ms, to this phase. The phases add up to the whole time. */
void delivery_spent(struct delivery *delivery, enum delivery_phase phase);

/* Starts to decode the message, so that this goes on while the caller connects. Optional, and may fail (fault set):
 * delivery_run then does it, and reports any problem. */
void delivery_begin(struct delivery *delivery, struct fault *fault);

/* Delivers: the answers are set. Restarts the deadline at its beginning. */
void delivery_run(struct delivery *delivery);

/* Instead of delivery_run: gives every recipient this answer. */
void delivery_refuse(struct delivery *delivery, enum outcome outcome, const char *text);

/* Frees what delivery_begin and delivery_run allocated. */
void delivery_clear(struct delivery *delivery);

/* For the signal handlers of deadline_install: if delivery_run is in progress, logs a line for each recipient.
 * Async-signal-safe. */
void delivery_log_end(int signal);

/* For delivery_run: prepares these lines. */
void delivery_keep_log(const struct delivery *delivery);

/* Logs one line for each recipient and one for the Sent copy, in Postfix's style. The values of delays= add up to
 * delay=. Counts recipients that are deferred because of the ledger, and of whom it has nothing (log.unrecorded). */
void delivery_log(const struct delivery *delivery);

#endif
