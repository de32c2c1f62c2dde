/* SPDX-License-Identifier: ISC
 *
 * The envelope of a message that has none any more: what the command line says, else what its header tells. */
#ifndef ONCEDROP_REPLAY_ENVELOPE_H
#define ONCEDROP_REPLAY_ENVELOPE_H

#include "replay/replay_task.h"

/* What the command line says. */
struct replay_envelope {
    const char *sender;            /* NULL: Return-Path, else "" */
    const char *const *recipients; /* NULL-terminated; NULL: from the header */
};

/* Completes a message that was read: sender, recipients, queue id, and when it arrived.
 *
 * recipients   else Delivered-To, else X-Original-To, else the addresses in To, Cc and Bcc that have an account, which only
 *              route.account_query can tell
 * received_at  the topmost Received field's date, else from_time (of an mbox From_ line; 0: none), else Date, else now
 *
 * REPLAY_BAD with the fault set when there is no recipient, REPLAY_TROUBLE when that cannot be told now. */
enum replay_load replay_envelope_complete(struct replay_worker *worker, const struct replay_envelope *told,
                                          int64_t from_time, struct replay_message *message,
                                          struct fault *fault) OD_MUST;

#endif
