/* SPDX-License-Identifier: ISC
 *
 * Messages from the ledger, for struct replay_setup. */
#ifndef ONCEDROP_REPLAY_LEDGER_H
#define ONCEDROP_REPLAY_LEDGER_H

#include "replay/replay_task.h"

/* Messages that can be finished or, if stored, have a stored copy, in order of recording. The caller sets the first
 * members. */
struct replay_ledger {
    struct ledger *ledger;
    bool stored;
    const char *account, *since; /* as for ledger_stored_ids */
    int64_t ids[500];
    size_t count, at;
};

bool replay_ledger_next(void *context, char **ret_name, int64_t *ret_number, struct error *error);

/* Reads the message again, to skip what others finished. The bytes must match the digest. */
enum replay_load replay_ledger_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                    struct error *error) OD_MUST;

/* Like replay_ledger_load(), for recipients whose copy was stored. Sets id_only if the bytes are not recorded. */
enum replay_load replay_ledger_load_stored(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                           struct error *error) OD_MUST;

#endif
