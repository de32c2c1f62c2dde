/* SPDX-License-Identifier: ISC
 *
 * A message's envelope: from the command line, else its header. */
#ifndef ONCEDROP_REPLAY_ENVELOPE_H
#define ONCEDROP_REPLAY_ENVELOPE_H

#include "replay/replay_task.h"

struct replay_envelope {
    const char *sender;    /* NULL: Return-Path, else "" */
    GPtrArray *recipients; /* of const char *; empty: from the header */
};

/* Sets a loaded message's envelope.
 *
 * recipients   default: Delivered-To, else X-Original-To, else the addresses in To, Cc and Bcc with an account, by
 *              route.account_query
 * received_at  from the topmost Received, else from_time (of a From_ line; 0: none), else Date, else now
 *
 * Returns REPLAY_BAD with the error set without recipients, REPLAY_ERROR if they are unknown now. */
enum replay_load replay_envelope_complete(struct replay_worker *worker, const struct replay_envelope *reported,
                                          int64_t from_time, struct replay_message *message,
                                          struct error *error) OD_MUST;

#endif
