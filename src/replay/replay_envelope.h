/* SPDX-License-Identifier: ISC
 *
 * The envelope of a message from a file: from the command line, else from its header. */
#ifndef ONCEDROP_REPLAY_ENVELOPE_H
#define ONCEDROP_REPLAY_ENVELOPE_H

#include "replay/replay_task.h"

/* From the command line. */
struct replay_envelope {
    const char *sender;    /* NULL: Return-Path, else "" */
    GPtrArray *recipients; /* of const char *; empty: from the header */
};

/* Sets sender, recipients, queue id and time of arrival of a loaded message.
 *
 * recipients   default: Delivered-To, else X-Original-To, else the addresses in To, Cc and Bcc that have an account,
 *              which only route.account_query says
 * received_at  date of the topmost Received field, else from_time (of a From_ line; 0: none), else Date, else now
 *
 * Returns REPLAY_BAD with the error set if there is no recipient, REPLAY_TROUBLE if that is unknown now. */
enum replay_load replay_envelope_complete(struct replay_worker *worker, const struct replay_envelope *told,
                                          int64_t from_time, struct replay_message *message,
                                          struct fault *fault) OD_MUST;

#endif
