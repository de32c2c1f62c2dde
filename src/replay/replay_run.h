/* SPDX-License-Identifier: ISC
 *
 * The parent: assigns messages to workers, retries, and reports results. */
#ifndef ONCEDROP_REPLAY_RUN_H
#define ONCEDROP_REPLAY_RUN_H

#include "replay/replay_task.h"

/* Delivers every message of setup->next. While another delivery is making one, retries it with backoff, as long as that
 * claim may be valid. SIGINT or SIGTERM only finishes messages in flight.
 *
 * error  why setup->next ended early, for the caller to report; or ""
 *
 * Returns 0 if all is in place; EX_DATAERR if some failed permanently or are missing; else EX_TEMPFAIL: some were
 * deferred or not tried. */
int replay_run(const struct replay_setup *setup, struct error *error) OD_MUST;

#endif
