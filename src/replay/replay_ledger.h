/* SPDX-License-Identifier: ISC
 *
 * Messages from the ledger, for `resume`. */
#ifndef ONCEDROP_REPLAY_LEDGER_H
#define ONCEDROP_REPLAY_LEDGER_H

#include "replay/replay_run.h"

struct replay_ledger;

/* A source of all messages that can be finished, in the order in which they were recorded. The ledger must outlive
 * it. */
struct replay_ledger *replay_ledger_new(struct ledger *ledger) OD_MUST;

/* For struct replay_source; context is a struct replay_ledger. Ends early on trouble: see replay_ledger_fault. */
bool replay_ledger_next(void *context, char **ret_name, GVariant **ret_task);

/* Why it ended early; NULL if it did not. */
const char *replay_ledger_fault(const struct replay_ledger *source) OD_MUST;

void replay_ledger_free(struct replay_ledger **source);

/* For struct replay_setup: reads the message and its unfinished recipients again, so that whatever others finished
 * meanwhile is left alone. The bytes must match the digest. */
enum replay_load replay_ledger_load(struct replay_worker *worker, GVariant *task, struct replay_message *ret,
                                    struct fault *fault) OD_MUST;

#endif
