/* SPDX-License-Identifier: ISC
 *
 * Messages from the ledger, for `resume` and `restore`. The functions are for struct replay_setup, whose context is a
 * struct replay_ledger. */
#ifndef ONCEDROP_REPLAY_LEDGER_H
#define ONCEDROP_REPLAY_LEDGER_H

#include "replay/replay_task.h"

/* All messages that can be finished, or those of which a copy was stored, in the order in which they were recorded. The caller
 * sets the first members, the rest is zero. */
struct replay_ledger {
    struct ledger *ledger;
    bool stored;
    const char *account, *since; /* as for ledger_stored_ids */
    int64_t ids[500];            /* of a batch */
    size_t count, at;
};

bool replay_ledger_next(void *context, char **ret_name, int64_t *ret_number, struct fault *fault);

/* Reads the message and its unfinished recipients again, so that whatever others finished meanwhile is left alone. The
 * bytes must match the digest. */
enum replay_load replay_ledger_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                    struct fault *fault) OD_MUST;

/* The same for the recipients whose copy was stored. If the bytes are not recorded, the message is one to be looked for by its
 * Message-ID (id_only). */
enum replay_load replay_ledger_load_stored(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                           struct fault *fault) OD_MUST;

#endif
