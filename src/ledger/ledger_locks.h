/* SPDX-License-Identifier: ISC
 *
 * The query of `locks`: who is delivering which message, and who waits for it. */
#ifndef ONCEDROP_LEDGER_LOCKS_H
#define ONCEDROP_LEDGER_LOCKS_H

#include "ledger/ledger_query.h"

/* Claims in progress and locks that are held, the oldest first; rows with the same key are adjacent. A lock without a
 * claim is listed if a delivery of ours holds it or waits for it, if it belongs to a recorded message, or if its key
 * looks like one of ours, whoever holds it. NULL with the fault set on trouble.
 *
 * key, message_id                      message_id: NULL if no message with this key is recorded; with lock.method = row
 * a lock without a claim has the number of its row instead of a key
 * account, mailbox, state, host, pid   the claim; NULL if there is none
 * age                                  seconds since the claim, else since the lock was taken
 * lock                                 held; claimed: the claim's delivery is about to take it; free: neither
 * session, ours, backend, user, client the database session that holds it: application_name, whether it is one of
 * oncedrop's, process id on the server, user, address
 * held                                 seconds since its transaction began, or since its last statement ended
 * hidden                               client and held are hidden from our user (see pg_read_all_stats)
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

#endif
