/* SPDX-License-Identifier: ISC
 *
 * The parent of `replay`, `resume` and `restore`: assigns messages to workers, retries those that others are
 * delivering, and reports results. */
#ifndef ONCEDROP_REPLAY_RUN_H
#define ONCEDROP_REPLAY_RUN_H

#include "replay/replay_task.h"

/* Delivers every message of setup->next. Retries one that another delivery is making, with backoff, for as long as that
 * claim may be valid, while others continue. SIGINT or SIGTERM finishes messages in flight and begins no others.
 *
 * fault  why setup->next ended early, for the caller to report; or ""
 *
 * Returns 0 if everything is in place; EX_DATAERR if some failed permanently or are missing for good; EX_TEMPFAIL if
 * some were only deferred or not tried. */
int replay_run(const struct replay_setup *setup, struct fault *fault) OD_MUST;

#endif
