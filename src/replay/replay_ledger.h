/* SPDX-License-Identifier: ISC
 *
 * Messages from the ledger, for `resume`. Both functions are for struct replay_setup, whose context is a struct
 * replay_ledger. */
#ifndef ONCEDROP_REPLAY_LEDGER_H
#define ONCEDROP_REPLAY_LEDGER_H

#include "replay/replay_task.h"

/* All messages that can be finished, in the order in which they were recorded. The caller sets the ledger, the rest is
 * zero. */
struct replay_ledger {
    struct ledger *ledger;
    int64_t ids[500]; /* of a batch */
    size_t count, at;
};

bool replay_ledger_next(void *context, char **ret_name, int64_t *ret_number, struct fault *fault);

/* Reads the message and its unfinished recipients again, so that whatever others finished meanwhile is left alone. The
 * bytes must match the digest. */
enum replay_load replay_ledger_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                    struct fault *fault) OD_MUST;

#endif
