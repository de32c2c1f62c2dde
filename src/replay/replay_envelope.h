/* SPDX-License-Identifier: ISC
 *
 * The envelope of a message that has lost it: from the command line, else from its header. */
#ifndef ONCEDROP_REPLAY_ENVELOPE_H
#define ONCEDROP_REPLAY_ENVELOPE_H

#include "replay/replay_task.h"

/* The envelope given on the command line. */
struct replay_envelope {
    const char *sender;    /* NULL: Return-Path, else "" */
    GPtrArray *recipients; /* of const char *; empty: from the header */
};

/* Completes a message that was read: sender, recipients, queue id, and when it arrived.
 *
 * recipients   default: Delivered-To, else X-Original-To, else the addresses in To, Cc and Bcc that have an account,
 *              which only route.account_query can tell
 * received_at  the date in the topmost Received field, else from_time (of an mbox From_ line; 0: none), else Date, else
 *              now
 *
 * REPLAY_BAD with the fault set if there is no recipient, REPLAY_TROUBLE if that is unknown at present. */
enum replay_load replay_envelope_complete(struct replay_worker *worker, const struct replay_envelope *told,
                                          int64_t from_time, struct replay_message *message,
                                          struct fault *fault) OD_MUST;

#endif
