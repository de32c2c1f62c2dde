/* SPDX-License-Identifier: ISC
 *
 * The queries of `list` and `stats`. Times are UTC, in ISO 8601. All return NULL with the fault set on trouble. */
#ifndef ONCEDROP_LEDGER_LIST_H
#define ONCEDROP_LEDGER_LIST_H

#include "ledger/ledger_query.h"

struct ledger_filter {
    const char *state;     /* pending, ..., abandoned, or unfinished (the first two); NULL: any */
    const char *since;     /* milliseconds before now, or @ and seconds since 1970; NULL: any */
    const char *recipient; /* envelope recipient or account, lower case; NULL: any */
    const char *sender;    /* envelope sender, "" for bounces, or address in From; NULL: any */
    const char *queue_id;  /* any queue id under which the message was tried; NULL: any */
    const char *delay;     /* minimum milliseconds that the copy took, or has taken so far; NULL: any */
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

#endif
