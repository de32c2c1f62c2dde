/* SPDX-License-Identifier: ISC
 *
 * The APPEND of a copy, in steps, so that several can be under way at the same time: begun while the database works on
 * the claim, fed after the hold, and collected. Without a session available for the account nothing can be begun. */
#ifndef ONCEDROP_APPEND_H
#define ONCEDROP_APPEND_H

#include "delivery/made.h"

/* The APPEND of a target on its session, from append_begin to append_collect. */
struct appending {
    struct letter letter;
    bool begun;              /* there is a result to collect, of the APPEND or the lack of a session */
    bool unreachable;        /* a session for the search before it could not be opened (fault) */
    bool put_off;            /* no session could be opened in a hurry: it is for the end */
    bool kept;               /* the session is from an earlier delivery: it may be lost without any trouble */
    struct mailbox *mailbox; /* NULL: no session could be opened ... */
    struct fault fault;      /* ... and why */
    struct iovec *pieces;
};

/* Opens the session and sends the command line. Nothing can be stored by this (mailbox_append_begin), so the claim need
 * not be committed yet. False: no session could be opened. Either append_collect gives that result, or it may work later
 * and nothing was begun: when other sessions are given back, or because it took longer than limit_ms (mailbox_open) for
 * the first time; then it is put off. */
bool append_begin(struct delivery_work *work, const struct letter *letter, enum sessions_age age, int64_t limit_ms);

/* Waits for the server to be ready, at most until until_ms, and sends the message. The copy must be held. */
void append_feed(struct delivery_work *work, size_t target, int64_t until_ms);

/* Waits for the answer. A kept session that turns out to be closed before anything was sent is replaced once by a new one,
 * if there is time; one that is silent until until_ms only if nobody waits for it (alone). */
struct made append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone) OD_MUST;

/* Instead of append_feed: nothing is sent, and the session ends, as the server waits for the message. */
void append_cancel(struct delivery_work *work, size_t target);

/* All steps at once. The copy must be held. */
struct made append_now(struct delivery_work *work, const struct letter *letter) OD_MUST;

#endif
