/* SPDX-License-Identifier: ISC
 *
 * The parent's side of `replay`, `resume` and `restore`: gives messages to workers, retries those that others are delivering, and
 * reports the results. */
#ifndef ONCEDROP_REPLAY_RUN_H
#define ONCEDROP_REPLAY_RUN_H

#include "replay/replay_task.h"

/* Delivers every message of setup->next. One that another delivery is making is retried with back-off, for as long as its
 * claim may be valid, while others continue. On SIGINT or SIGTERM, messages in progress are finished and no others begun.
 *
 * fault   why setup->next ended early, for the caller to report; its text is "" if it did not
 *
 * Returns the exit status: 0 everything is in place, EX_DATAERR some failed permanently or are missing for good, else EX_TEMPFAIL some were
 * deferred or not tried. */
int replay_run(const struct replay_setup *setup, struct fault *fault) OD_MUST;

#endif
