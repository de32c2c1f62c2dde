/* SPDX-License-Identifier: ISC
 *
 * What `locks` asks: who has which message, and who waits for it. */
#ifndef ONCEDROP_LEDGER_LOCKS_H
#define ONCEDROP_LEDGER_LOCKS_H

#include "ledger/ledger_query.h"

/* Claims under way and locks that are held, the longest first; rows of one key stand together. A lock without a claim is
 * listed when a delivery of ours holds it or waits for it, when it is that of a recorded message, or when its key looks as
 * one of ours does, whoever holds it. NULL with the fault set on trouble.
 *
 *   key, message_id                      message_id: NULL when no message with this key is recorded
 *   account, mailbox, state, host, pid   the claim, NULL without one
 *   age                                  seconds since the claim, else since the lock is held
 *   lock                                 held; claimed: the claim's delivery is about to take it; free: it is not
 *   session, ours, backend, user, client the database session that holds it: its application_name, whether that is one of
 *                                        oncedrop's, process id at the server, user, address
 *   held                                 seconds since its transaction, or the end of its last statement
 *   hidden                               client and held are not shown to our user (pg_read_all_stats)
 *   waiting                              JSON array: backend, user, session, seconds */
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
    LOCKS_WAITING,
};

#endif
