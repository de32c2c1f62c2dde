/* SPDX-License-Identifier: ISC
 *
 * Queries of `list` and `stats` (ledger_list.c), `show` (ledger_show.c) and `locks` (ledger_locks.c). The headers of
 * sql/steps name the columns. Times are UTC, ISO 8601. */
#ifndef ONCEDROP_LEDGER_REPORT_H
#define ONCEDROP_LEDGER_REPORT_H

#include "ledger/ledger_query.h"

struct ledger_filter {
    const char *state;     /* pending, ..., "expired", unfinished (the first two); here and below, NULL: any */
    const char *since;     /* milliseconds before now, or @ and seconds since 1970 */
    const char *until;     /* same form */
    const char *recipient; /* envelope recipient or account, lower case */
    const char *sender;    /* envelope sender ("": bounces), or From */
    const char *mailbox;
    const char *subject;    /* a part, in any case; valid UTF-8 */
    const char *message_id; /* like subject */
    const char *queue_id;   /* of any attempt */
    const char *delay;      /* minimum milliseconds until it was stored, or so far */
    int64_t limit;
};

/* Lists copies, newest first; delay in seconds. */
struct sql_rows *ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct error *error) OD_MUST;

struct sql_rows *ledger_totals(struct ledger *ledger, struct error *error) OD_MUST;

/* Returns a row for each recent hour in which a recipient's mailbox got a copy. */
struct sql_rows *ledger_hours(struct ledger *ledger, int64_t hours, struct error *error) OD_MUST;

/* Finds messages by identity, digest, or any attempt's queue id, each or NULL; oldest first. */
struct sql_rows *ledger_find_messages(struct ledger *ledger, const unsigned char *identity, const unsigned char *digest,
                                      const char *queue_id, struct error *error) OD_MUST;

/* Sets *ret: a message with this digest is recorded. Uses only what a delivery may read. */
bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct error *error) OD_MUST;

/* Returns Message-IDs to suggest instead of this one. */
struct sql_rows *ledger_near(struct ledger *ledger, const char *message_id, struct error *error) OD_MUST;

/* Returns when the oldest message that is not purged was received. */
struct sql_rows *ledger_oldest(struct ledger *ledger, struct error *error) OD_MUST;

/* Returns a section about a message (its id): "addresses", "deliveries", "attempts" (oldest first; times in seconds),
 * "spans" (of attempts with record.trace), "copies", "parts"; or "why", sentences (ledger_explain.h). */
struct sql_rows *ledger_show(struct ledger *ledger, const char *section, const char *message,
                             struct error *error) OD_MUST;

/* Lists claims in progress and held locks with the sessions that wait for them, oldest first, by key. Includes a lock
 * without a claim if a delivery of ours holds it or waits for it, or its key is of a recorded message or looks like
 * ours. */
struct sql_rows *ledger_locks(struct ledger *ledger, struct error *error) OD_MUST;

enum {
    LOCKS_KEY,        /* of a row lock without a claim: the number of the row */
    LOCKS_MESSAGE_ID, /* NULL: not recorded */
    LOCKS_ACCOUNT,    /* of the claim, up to LOCKS_PID; NULL: none */
    LOCKS_MAILBOX,
    LOCKS_STATE,
    LOCKS_HOST,
    LOCKS_PID,
    LOCKS_AGE,     /* seconds since the claim, else the lock */
    LOCKS_LOCK,    /* held; claimed: about to be taken for the claim; free */
    LOCKS_SESSION, /* name of the lock holder's session */
    LOCKS_OURS,    /* of oncedrop */
    LOCKS_BACKEND, /* its process on the server */
    LOCKS_USER,
    LOCKS_CLIENT, /* its address */
    LOCKS_HELD,   /* seconds since its transaction began or last statement ended */
    LOCKS_HIDDEN, /* from our user: client and held */
    LOCKS_WAITING /* JSON array: backend, user, session, seconds */
};

/* Returns the hint for hidden columns: a new string. */
char *ledger_locks_hint(const struct ledger *ledger) OD_MUST;

#endif
