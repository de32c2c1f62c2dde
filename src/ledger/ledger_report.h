/* SPDX-License-Identifier: ISC
 *
 * The queries of `list` and `stats` (ledger_list.c), `show` (ledger_show.c) and `locks` (ledger_locks.c). Times are UTC, in
 * ISO 8601. All return NULL, or false, with the fault set on trouble. */
#ifndef ONCEDROP_LEDGER_REPORT_H
#define ONCEDROP_LEDGER_REPORT_H

#include "ledger/ledger_query.h"

struct ledger_filter {
    const char *state;      /* pending, ..., abandoned, or unfinished (the first two); NULL: any */
    const char *since;      /* milliseconds before now, or @ and seconds since 1970; NULL: any */
    const char *until;      /* before then, in the same form; NULL: any */
    const char *recipient;  /* envelope recipient or account, lower case; NULL: any */
    const char *sender;     /* envelope sender, "" for bounces, or address in From; NULL: any */
    const char *mailbox;    /* its name; NULL: any */
    const char *subject;    /* a part of it, whatever the case; valid UTF-8; NULL: any */
    const char *message_id; /* a part of it, likewise */
    const char *queue_id;   /* any queue id under which the message was tried; NULL: any */
    const char *delay;      /* minimum milliseconds that the copy took, or has taken so far; NULL: any */
    int64_t limit;
};

/* Copies, newest first. Columns: at, state, queue_id, account, delay (seconds), mailbox, subject, from, sender, message_id,
 * uid, role, recipients, attempt, error. */
struct ledger_table *ledger_list(struct ledger *ledger, const struct ledger_filter *filter,
                                 struct fault *fault) OD_MUST;

/* One row. Columns: messages, bytes, stored, pending, appending, failed, abandoned, unfinished (deliveries), oldest_unfinished
 * (seconds), duplicates. */
struct ledger_table *ledger_totals(struct ledger *ledger, struct fault *fault) OD_MUST;

/* One row for each recent hour in which something was stored in a recipient's mailbox. Columns: hour, stored, bytes,
 * retried, p50, p95, p99 (seconds from the first attempt until it was stored). */
struct ledger_table *ledger_hours(struct ledger *ledger, int64_t hours, struct fault *fault) OD_MUST;

/* Finds messages by identity, digest, or any queue id they were tried under, each of which may be NULL; oldest first.
 * Columns: id, message_id, digest, lock_key, sender, from, subject, date, size,
 * in_reply_to, references, received_at. */
struct ledger_table *ledger_find_messages(struct ledger *ledger, const unsigned char *identity,
                                          const unsigned char *digest, const char *queue_id,
                                          struct fault *fault) OD_MUST;

/* Whether a message with this digest is recorded; for replay, so it uses only what a delivery may read. */
bool ledger_knows(struct ledger *ledger, const unsigned char *digest, bool *ret, struct fault *fault) OD_MUST;

/* Message-IDs that may be near an unknown one: some with a common beginning, and the newest. Column message_id. */
struct ledger_table *ledger_near(struct ledger *ledger, const char *message_id, struct fault *fault) OD_MUST;

/* When the oldest message on record was received: what was before has been purged. Column received_at. */
struct ledger_table *ledger_oldest(struct ledger *ledger, struct fault *fault) OD_MUST;

/* A section of what is known of one message (its id). Their names and columns:
 *
 *   addresses   role, position, group, name, address
 *   deliveries  recipient, original_recipient, account, mailbox, outcome, reason, tries, queue_id, host, first_at,
 *               last_at, finished_at, whole
 *   tries       at, outcome, recipient, queue_id, reason, queued, read, lock, database, imap (seconds: in Postfix's queue
 *               before; spent on each), host, pid, ended_at; oldest first
 *   spans       of tries with record.trace: trace_id, span_id, start_time_unix_nano, end_time_unix_nano, message_id,
 *               queue_id, host, pid, recipient, outcome, reason, account, mailbox, uidvalidity, uid, read_ms, lock_ms,
 *               database_ms, imap_ms
 *   copies      account, mailbox, role, state, doubt, uid, uidvalidity, attempt, repeated, first_at, attempt_at, stored_at,
 *               host, pid, claimed_by, error
 *   parts       path, type, charset, disposition, filename, size, sha256
 *   why         text: what became of it and why, a sentence each: the tries in order of time, then what holds now; none
 *               for what was stored at the first try at once */
struct ledger_table *ledger_show(struct ledger *ledger, const char *section, const char *message,
                                 struct fault *fault) OD_MUST;

/* Who is delivering which message, and who waits for it: claims in progress and locks that are held, the oldest first;
 * rows with the same key are adjacent. A lock without a claim is listed if a delivery of ours holds it or waits for it, if
 * it belongs to a recorded message, or if its key looks like one of ours, whoever holds it.
 *
 * key, message_id                      message_id: NULL if no message with this key is recorded; with lock.method =
 *                                      row a lock without a claim has the number of its row instead of a key
 * account, mailbox, state, host, pid   the claim; NULL if there is none
 * age                                  seconds since the claim, else since the lock was taken
 * lock                                 held; claimed: the claim's delivery is about to take it; free: neither
 * session, ours, backend, user, client the database session that holds it: its name, whether it is one of
 *                                      oncedrop's, its process on the server, its user, its address
 * held                                 seconds since its transaction began, or since its last statement ended
 * hidden                               client and held are hidden from our user (ledger_locks_remedy)
 * waiting                              JSON array: backend, user, session, seconds */
struct ledger_table *ledger_locks(struct ledger *ledger, struct fault *fault) OD_MUST;

enum {
    LOCKS_KEY,
    LOCKS_MESSAGE_ID,
    LOCKS_ACCOUNT,
    LOCKS_MAILBOX,
    LOCKS_STATE,
    LOCKS_HOST,
    LOCKS_PID,
    LOCKS_AGE,
    LOCKS_LOCK,
    LOCKS_SESSION,
    LOCKS_OURS,
    LOCKS_BACKEND,
    LOCKS_USER,
    LOCKS_CLIENT,
    LOCKS_HELD,
    LOCKS_HIDDEN,
    LOCKS_WAITING
};

/* What to do if something is hidden: a new string (free(3)). */
char *ledger_locks_remedy(const struct ledger *ledger) OD_MUST;

#endif
