/* SPDX-License-Identifier: ISC
 *
 * The story of a delivery: claim, hold, append, settle; first for the recipients' mailboxes, then for the sender's. */
#ifndef ONCEDROP_DELIVERY_H
#define ONCEDROP_DELIVERY_H

#include "base/config.h"
#include "delivery/outcome.h"
#include "delivery/plan.h"
#include "delivery/sessions.h"
#include "ledger/ledger.h"
#include "message/decoding.h"
#include "route/route.h"

struct delivery_recipient {
    const char *address;          /* envelope recipient; set by the caller */
    const char *original;         /* before Postfix rewrote it; may be NULL; set by the caller */
    const struct address *parsed; /* the address taken apart, where the caller has had to; NULL: not yet */
    struct route route;           /* set by delivery_run, where known */
    struct report report;         /* the answer for this recipient */
    uint32_t uid;                 /* in route.inbox, when known */
};

/* What a delivery spends its time on. */
enum delivery_phase {
    PHASE_READ,     /* reading and decoding the message */
    PHASE_LOCK,     /* until the lock is granted */
    PHASE_DATABASE, /* connecting, routes, the claim and the hold */
    PHASE_IMAP,     /* connecting, login, searching, appending */
    PHASE_SETTLE,   /* the commit point */
    PHASE_COUNT,
};

/* What became of the Sent copy, where this delivery had anything to do with it. */
struct delivery_sent {
    char *account, *mailbox; /* NULL: nothing */
    struct report report;
    bool failed; /* given up */
    uint32_t uid;
};

/* One message and its recipients. The caller sets everything up to `started_ms`. */
struct delivery {
    const struct config *config;
    struct ledger *ledger;
    struct sessions *sessions;
    const struct message *message; /* NULL: delivery_refuse only */
    const char *sender;            /* envelope sender, "" for a bounce */
    const char *sasl_user;  /* SASL login with which the mail entered, "": without; NULL: not told, see Received */
    const char *only_login; /* deliver to this login name's account only, and believe nothing that is said of the
                               sender; NULL: no such limit */
    const struct route *sender_route; /* resume: where the Sent copy was recorded to belong ... */
    bool sender_known;                /* ... and that this is so (NULL: none is due), whatever can be told now */
    const char *queue_id;             /* NULL: not told */
    int64_t queued_at;                /* seconds since 1970, when Postfix received it under that id; 0: not known */
    int64_t received_at;              /* seconds since 1970, INTERNALDATE of a message not recorded yet; 0: now */
    bool whole;                       /* the message had an end mark */
    enum delivery_again again;
    bool dry_run;              /* only says what would be done, and why; nothing is written */
    bool (*reader_gone)(void); /* for a message without end mark, asked after the claim and before each APPEND: true:
                                  it may be cut short, which stops the delivery; NULL: never */
    struct delivery_recipient *recipients;
    size_t recipient_count;
    int64_t started_ms;            /* base_now_ms() when we began to read */
    int64_t spent_ms[PHASE_COUNT]; /* since then, by delivery_spent */
    struct delivery_sent sent;     /* set by delivery_run */
    char *holder;                  /* set by delivery_run: the session that held the lock; NULL: none, or not known */
    struct decoding *decoding;     /* NULL until delivery_begin or delivery_run */
};

/* What is answered about a message on a pipe that Postfix has closed. */
#define DELIVERY_CUT "the reader of our answer is gone: the message may be cut short"

/* Counts the time since the last call, or since started_ms, to this phase: the phases add up to all of it. */
void delivery_spent(struct delivery *delivery, enum delivery_phase phase);

/* Begins to decode the message, which then goes on while the caller connects. May be left out, and may fail (fault set):
 * delivery_run does it otherwise, and reports what is in the way. */
void delivery_begin(struct delivery *delivery, struct fault *fault);

/* Delivers. Arms the deadline anew at its beginning. Every recipient's report is set; nothing else is to be asked. */
void delivery_run(struct delivery *delivery);

/* In place of delivery_run: gives every recipient this answer. */
void delivery_refuse(struct delivery *delivery, enum outcome outcome, const char *text);

/* Frees what delivery_begin and delivery_run left. */
void delivery_clear(struct delivery *delivery);

/* For the signal handlers of deadline_install: logs a line for each recipient if delivery_run is under way.
 * Async-signal-safe. */
void delivery_log_end(int signal);

/* For delivery_run: prepares those lines. */
void delivery_keep_log(const struct delivery *delivery);

/* One line for each recipient and one for the Sent copy, in Postfix's style. Their delays add up to their delay. */
void delivery_log(const struct delivery *delivery);

#endif
