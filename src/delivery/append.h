/* SPDX-License-Identifier: ISC
 *
 * APPENDs in steps, so that several are in flight: begin while the claim is committed, send once the copy is held,
 * collect. Precondition: a session is available for the account. */
#ifndef ONCEDROP_APPEND_H
#define ONCEDROP_APPEND_H

#include "delivery/copy_result.h"

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

/* Opens the session and sends the command. Without the literal nothing can be stored (mailbox_append_begin), so the
 * claim need not be committed. Returns false without a session. Then nothing is begun if a retry may succeed: after
 * sessions are released, or after the first open that exceeds limit_ms. */
bool append_begin(struct delivery_work *work, const struct append_item *item, enum sessions_age age, int64_t limit_ms);

/* Waits for '+' until until_ms (base_now_ms), and sends the literal. */
void append_send(struct delivery_work *work, size_t target, int64_t until_ms);

/* Waits for the response. Retries once if a reused session was lost before the literal was sent: before until_ms, or if
 * no other copy waits (alone). */
struct copy_result append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone) OD_MUST;

/* Instead of append_send(): closes the session, as its server waits for the literal. */
void append_cancel(struct delivery_work *work, size_t target);

/* Executes all steps. */
struct copy_result append_now(struct delivery_work *work, const struct append_item *item) OD_MUST;

#endif
